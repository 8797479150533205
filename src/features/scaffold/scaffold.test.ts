import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { unzipSync } from 'fflate';
import { newAgent, startApp, startOfMinute } from '../../../test/support/harness.ts';
import { createMatrixFixture } from '../../../test/support/principals.ts';
import { languages } from './schema.ts';

const t = await startApp({
  MULTI_TENANT: 'true',
  BILLING_ALLOW_EMBEDDED: 'true',
  WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
});
const { makeTarget, agentIn, operatorToken } = await createMatrixFixture(t);

async function ask(agentId: string, token: string | undefined, query = '') {
  const response = await t.app.http.server.inject({
    method: 'GET',
    url: `/api/v1/sdk/scaffold/${agentId}${query}`,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
  return {
    status: response.statusCode,
    headers: response.headers,
    bytes: response.rawPayload,
    get json() {
      return JSON.parse(response.body);
    },
    get files(): Record<string, string> {
      return Object.fromEntries(
        Object.entries(unzipSync(response.rawPayload)).map(([path, bytes]) => [
          path,
          Buffer.from(bytes).toString(),
        ]),
      );
    },
  };
}

/** A new organization each time, since the limit is ten archives a minute per organization. */
async function member(scopes: string[] = []) {
  const { organizationId, agentId } = await makeTarget('organizationId');
  return { organizationId, agentId, token: (await agentIn(organizationId, scopes)).token };
}

const register = async (organizationId: string, changes: object): Promise<string> =>
  (
    await t.call('POST', '/api/v1/agents', {
      token: operatorToken,
      payload: newAgent({ organization_id: organizationId, ...changes }),
    })
  ).json.agentId;

describe('GET /sdk/scaffold/{agentId}', () => {
  it('200 a TypeScript project by default, named after the agent', async () => {
    const { organizationId, token } = await member();
    const agentId = await register(organizationId, { email: 'resume.screener-1+eu@example.com' });
    const { status, headers, files } = await ask(agentId, token);
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'application/zip');
    assert.equal(headers['content-disposition'], 'attachment; filename="resume.screener-1+eu-scaffold.zip"');
    assert.equal(headers['cache-control'], 'no-store');
    assert.ok(files['package.json']?.includes('"jose"'));
    const own = Object.entries(files).filter(([path]) => !path.includes('/countersign/'));
    const characters = own.reduce((sum, [, text]) => sum + text.length, 0);
    assert.ok(characters < 160_000, `${characters} characters besides the copy of the SDK`);
  });

  for (const language of languages) {
    it(`200 ${language}: settings filled in, with client, tests, README, container and CI`, async () => {
      const { organizationId, agentId, token } = await member();
      const { status, files } = await ask(agentId, token, `?language=${language}`);
      assert.equal(status, 200);
      const settings = files['.env.example']?.split('\n') ?? [];
      assert.ok(settings.includes(`CLIENT_ID=${agentId}`));
      assert.ok(settings.includes('API_URL=http://countersign.test'));
      assert.ok(settings.includes('CLIENT_SECRET='));
      assert.ok(settings.includes(`ORGANIZATION_ID=${organizationId}`));
      assert.ok(settings.includes('ACCEPT_ANY_ORGANIZATION=false'));
      for (const path of [
        'README.md',
        'Dockerfile',
        '.dockerignore',
        '.gitignore',
        '.github/workflows/ci.yml',
      ])
        assert.ok(files[path], `${path} is missing`);
      assert.ok(Object.keys(files).some((path) => /test/i.test(path)) || language === 'rust');
      for (const [path, text] of Object.entries(files)) assert.doesNotMatch(text, /@@\w*@@/, path);
      assert.match(files.Dockerfile ?? '', /^USER (?!root|0)/m);
    });

    it(`200 ${language}: any values of the agent change only two files and no file name`, async () => {
      const { organizationId, agentId, token } = await member();
      const other = await register(organizationId, {
        email: `a/b'*%{}${language}@example.com`,
        owner: `../../etc/passwd\r\n"""*/\${x}`,
      });
      const query = `?language=${language}`;
      const [one, two] = [(await ask(agentId, token, query)).files, (await ask(other, token, query)).files];
      assert.deepEqual(Object.keys(one), Object.keys(two));
      for (const path of Object.keys(one)) assert.match(path, /^[\w.-]+(\/[\w.-]+)*$/);
      const differing = Object.keys(one).filter((path) => one[path] !== two[path]);
      assert.equal(differing.length, 2, differing.join());
      assert.ok(differing.includes('.env.example'));
    });
  }

  for (const [language, from, to, leftOut] of [
    ['typescript', 'sdk/typescript/src', 'src/countersign', /^(adapters\/|verify\/mcp\.ts$)/],
    ['python', 'sdk/python/src/countersign', 'countersign', /^(fastapi|mcp)\.py$/],
  ] as const)
    it(`200 ${language}: has the files of the SDK byte for byte`, async () => {
      const { agentId, token } = await member();
      const { files } = await ask(agentId, token, `?language=${language}`);
      const folder = new URL(`../../../${from}/`, import.meta.url);
      const expected = globSync('**/*.{ts,py}', { cwd: folder }).filter((path) => !leftOut.test(path));
      const copied = Object.keys(files).filter((path) => path.startsWith(`${to}/`));
      assert.deepEqual(copied.sort(), expected.map((path) => `${to}/${path}`).sort());
      for (const path of expected)
        assert.equal(files[`${to}/${path}`], readFileSync(new URL(path, folder), 'utf8'), path);
    });

  it('200 the same bytes for the same agent, with the time 1980-01-01 in every entry', async () => {
    const { agentId, token } = await member();
    const [first, second] = [
      await ask(agentId, token, '?language=go'),
      await ask(agentId, token, '?language=go'),
    ];
    assert.ok(first.bytes.equals(second.bytes));
    let entries = 0;
    for (
      let at = first.bytes.indexOf('PK\x01\x02');
      at >= 0;
      at = first.bytes.indexOf('PK\x01\x02', at + 1)
    ) {
      assert.deepEqual([...first.bytes.subarray(at + 12, at + 16)], [0, 0, 0x21, 0]);
      entries += 1;
    }
    assert.equal(entries, Object.keys(first.files).length);
  });

  it('200 a non-ASCII name is sent in both forms, escaped', async () => {
    const { organizationId, token } = await member();
    const agentId = await register(organizationId, { email: "a/b'c*`d`e@example.com" });
    const { headers } = await ask(agentId, token);
    assert.equal(
      headers['content-disposition'],
      `attachment; filename="a_b_c__d_e-scaffold.zip"; filename*=UTF-8''a_b%27c%2A%60d%60e-scaffold.zip`,
    );
  });

  it('200 for a suspended agent', async () => {
    const { agentId, token } = await member();
    await t.call('PATCH', `/api/v1/agents/${agentId}`, {
      token: operatorToken,
      payload: { status: 'suspended' },
    });
    assert.equal((await ask(agentId, token)).status, 200);
  });

  it('200 for an operator, for agents of any organization', async () => {
    const { organizationId, agentId } = await member();
    const { status, files } = await ask(agentId, operatorToken);
    assert.equal(status, 200);
    assert.ok(files['.env.example']?.split('\n').includes(`ORGANIZATION_ID=${organizationId}`));
  });

  it('400 VALIDATION_ERROR for an unknown language, with the list of languages', async () => {
    const { agentId, token } = await member();
    for (const provided of ['cobol', '', 'TypeScript', '../typescript', '__proto__', 'constructor']) {
      const { status, json } = await ask(agentId, token, `?language=${encodeURIComponent(provided)}`);
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], provided);
      const { field, provided: repeated, supported } = json.details;
      assert.deepEqual(
        { field, repeated, supported },
        { field: 'language', repeated: provided, supported: languages },
      );
    }
    const long = (await ask(agentId, token, `?language=${'x'.repeat(5_000)}`)).json;
    assert.ok(long.details.provided.length < 100);
  });

  it('400 VALIDATION_ERROR for a repeated language and for an invalid id', async () => {
    const { agentId, token } = await member();
    assert.equal((await ask(agentId, token, '?language=go&language=rust')).json.code, 'VALIDATION_ERROR');
    assert.equal((await ask('not-an-id', token)).json.code, 'VALIDATION_ERROR');
  });

  it('401 UNAUTHORIZED without a token', async () => {
    const { status, json } = await ask((await member()).agentId, undefined);
    assert.deepEqual([status, json.code], [401, 'UNAUTHORIZED']);
  });

  it('403 FORBIDDEN for an agent of another organization, decommissioned or not', async () => {
    const { token } = await member(['agents:read', 'agents:write']);
    const { agentId } = await member();
    assert.deepEqual(
      [(await ask(agentId, token)).status, (await ask(agentId, token)).json.code],
      [403, 'FORBIDDEN'],
    );
    await t.call('DELETE', `/api/v1/agents/${agentId}`, { token: operatorToken });
    assert.equal((await ask(agentId, token)).json.code, 'FORBIDDEN');
  });

  it('404 AGENT_NOT_FOUND for an unknown agent', async () => {
    const { status, json, headers } = await ask(randomUUID(), (await member()).token);
    assert.deepEqual([status, json.code], [404, 'AGENT_NOT_FOUND']);
    assert.equal(headers['x-ratelimit-limit'], '10', 'refusals tell of the same window');
  });

  it('422 AGENT_DECOMMISSIONED', async () => {
    const { agentId, token } = await member();
    await t.call('DELETE', `/api/v1/agents/${agentId}`, { token: operatorToken });
    const { status, json } = await ask(agentId, token);
    assert.deepEqual([status, json.code], [422, 'AGENT_DECOMMISSIONED']);
  });

  it('429 RATE_LIMIT_EXCEEDED from the eleventh in a minute, for the whole organization and no other', async () => {
    const { organizationId, agentId, token } = await member();
    const colleague = (await agentIn(organizationId, [])).token;
    const elsewhere = await member();
    startOfMinute(t.clock);
    for (let count = 1; count <= 10; count += 1) {
      const { status, headers } = await ask(agentId, count % 2 ? token : colleague, '?language=go');
      assert.equal(status, 200);
      assert.equal(headers['x-ratelimit-limit'], '10');
      assert.equal(headers['x-ratelimit-remaining'], String(10 - count));
    }
    t.clock.advance(15_000);
    for (const bearer of [token, colleague]) {
      const { status, headers, json } = await ask(agentId, bearer);
      assert.deepEqual([status, json.code], [429, 'RATE_LIMIT_EXCEEDED']);
      assert.match(String(headers['retry-after']), /^\d+$/);
      assert.ok(Number(headers['retry-after']) <= 45);
      assert.equal(headers['x-ratelimit-limit'], '10');
      assert.equal(headers['x-ratelimit-remaining'], '0');
      assert.equal(headers['content-type'], 'application/json; charset=utf-8');
    }
    assert.equal((await ask(elsewhere.agentId, elsewhere.token)).status, 200);
    t.clock.advance(45_000);
    assert.equal((await ask(agentId, token)).status, 200);
  });

  it('429 RATE_LIMIT_EXCEEDED for all but ten of fifty concurrent requests', async () => {
    const { agentId, token } = await member();
    startOfMinute(t.clock);
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => ask(agentId, token, '?language=rust')),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 10);
    assert.equal(answers.filter(({ status }) => status === 429).length, 40);
    const [one, two] = answers.filter(({ status }) => status === 200);
    assert.ok(one && two?.bytes.equals(one.bytes));
  });
});
