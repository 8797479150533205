/** GET /audit/export: the file that `countersign audit verify` reads, as a stream. */
import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { get as httpGet } from 'node:http';
import { describe, it } from 'node:test';
import { verifyExport } from '../../../../sdk/typescript/src/audit/verify-export.ts';
import { environment, newAgent, startApp, startOfMinute } from '../../../../test/support/harness.ts';
import { until } from '../../../../test/support/programs.ts';
import { recordEvents } from '../../../../test/support/scenarios/audit-log.ts';
import { createStatementReader, describePublicKey } from '../../../adapters/keys/keys.ts';
import { limits } from '../../../contract/limits.ts';

const t = await startApp({ MULTI_TENANT: 'true' });
const base = await t.app.http.server.listen({ host: '127.0.0.1', port: 0 });
const operator = await t.token();
const roots = [await describePublicKey(createPublicKey(environment(t.databaseUrl).JWT_PUBLIC_KEY))];
const read = createStatementReader();

async function createOrganization() {
  const payload = { name: 'Team', slug: `team-${crypto.randomUUID().slice(0, 13)}`, planTier: 'pro' };
  const { organizationId } = (await t.call('POST', '/api/v1/organizations', { token: operator, payload }))
    .json;
  const reader = await t.agent({ organization_id: organizationId, allowedScopes: ['audit:read'] });
  return { organizationId: String(organizationId), reader, token: await t.token(undefined, reader) };
}
const tenant = await createOrganization();
const other = await createOrganization();
await recordEvents(t, tenant.organizationId, 1_500);
await recordEvents(t, other.organizationId, 5);

const download = (query: string, token: string) => t.call('GET', `/api/v1/audit/export${query}`, { token });

async function* linesOf(text: string) {
  for (const line of text.split('\n')) yield line;
}
const verdictOf = (text: string) => verifyExport(linesOf(text), { roots, read });

describe('GET /audit/export', () => {
  it('200: the own organization, signed at its end, and intact', async () => {
    const answer = await download('', tenant.token);
    assert.equal(answer.status, 200);
    assert.match(String(answer.headers['content-type']), /^application\/x-ndjson/);
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.match(
      String(answer.headers['content-disposition']),
      new RegExp(`^attachment; filename="audit-${tenant.organizationId}-\\d{8}T\\d{6}Z\\.jsonl"$`),
    );
    const { finding, statement, events, chains } = await verdictOf(answer.text);
    assert.equal(finding, undefined);
    assert.equal(statement?.organizationId, tenant.organizationId);
    assert.deepEqual([chains, statement.events], [1, events]);
    assert.ok(events >= 1_500);
    assert.ok(!answer.text.includes(other.organizationId));
  });

  it('200: characters that control a terminal or change the order of text are escapes, and the file is intact', async () => {
    const owner = 'a\u202Eb\u001b[31m\u200bc';
    const made = await t.call('POST', '/api/v1/agents', {
      token: operator,
      payload: newAgent({ owner, organization_id: other.organizationId }),
    });
    assert.equal(made.status, 201, made.text);
    const { text } = await download('', other.token);
    assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Cf}]/u);
    assert.ok(text.includes(made.json.agentId));
    assert.equal((await verdictOf(text)).finding, undefined);
  });

  it('200: an event of a moment ago is in it', async () => {
    const agentId = (await t.agent({ organization_id: other.organizationId })).agentId;
    assert.ok((await download('', other.token)).text.includes(agentId));
  });

  it('200: for the operator all organizations, or the one that it names', async () => {
    startOfMinute(t.clock);
    const all = await verdictOf((await download('', operator)).text);
    assert.equal(all.finding, undefined);
    assert.equal(all.statement?.organizationId, null);
    assert.ok(all.chains >= 3);
    const one = await verdictOf((await download(`?organizationId=${other.organizationId}`, operator)).text);
    assert.deepEqual([one.finding, one.statement?.organizationId], [undefined, other.organizationId]);
    const none = await verdictOf((await download(`?organizationId=${t.app.ids.uuid()}`, operator)).text);
    assert.deepEqual([none.finding, none.chains], [undefined, 0]);
  });

  it('200: a changed event is found in the file', async () => {
    startOfMinute(t.clock);
    const organizationId = t.app.ids.uuid();
    await recordEvents(t, organizationId, 3);
    await t.app.audit.linkAll();
    await t.sql(
      `set session_replication_role = replica;
       update audit_events set outcome = 'failure' where organization_id = '${organizationId}'`,
    );
    const { finding } = await verdictOf((await download(`?organizationId=${organizationId}`, operator)).text);
    assert.equal(finding?.code, 'EVENT_CHANGED');
  });

  it('404 ORG_NOT_FOUND for another organization, 400 for no UUID, 403 without audit:read', async () => {
    startOfMinute(t.clock);
    const foreign = await download(`?organizationId=${tenant.organizationId}`, other.token);
    assert.deepEqual([foreign.status, foreign.json.code], [404, 'ORG_NOT_FOUND']);
    assert.equal((await download('?organizationId=x', operator)).json.code, 'VALIDATION_ERROR');
    assert.equal((await download('', await t.token('agents:read'))).json.code, 'INSUFFICIENT_SCOPE');
  });

  it('429 RATE_LIMIT_EXCEEDED: more than the organization may export in a minute', async () => {
    startOfMinute(t.clock);
    const { perMinute } = limits.auditExports;
    for (let count = 0; count < perMinute; count += 1)
      assert.equal((await download('', other.token)).status, 200);
    const refused = await download('', other.token);
    assert.equal(refused.json.code, 'RATE_LIMIT_EXCEEDED');
    assert.ok(Number(refused.headers['retry-after']) > 0);
  });
});

/** Opens an export and reads nothing of it. */
const openSlowly = (token: string) =>
  new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    const request = httpGet(`${base}/api/v1/audit/export`, { headers: { authorization: `Bearer ${token}` } });
    request.on('response', (response) => {
      response.pause();
      response.on('error', () => {});
      resolve(response);
    });
    request.on('error', reject);
  });

describe('GET /audit/export to a client that reads slowly', () => {
  it('429 RATE_LIMIT_EXCEEDED for a second export of the organization, until the first has ended', async () => {
    startOfMinute(t.clock);
    await recordEvents(t, tenant.organizationId, 20_000);
    await t.app.audit.linkAll();
    const slow = await openSlowly(tenant.token);
    const refused = await download('', tenant.token);
    assert.deepEqual([refused.status, refused.json.code], [429, 'RATE_LIMIT_EXCEEDED']);
    assert.match(refused.json.message, /already runs an export/);
    assert.equal((await download('', other.token)).status, 200);
    // It holds no database connection while the client does not read.
    const [row] = await t.sql<{ open: number }>(
      `select count(*)::int as open from pg_stat_activity
       where datname = current_database() and state like 'idle in transaction%'`,
    );
    assert.equal(row?.open, 0);
    slow.destroy();
    await until(
      'the export has ended',
      async () => (await download('', tenant.token)).status === 200 || undefined,
    );
  });

  it('breaks off when the credential was revoked, and the file says that it is not complete', async () => {
    t.clock.advance(60_000);
    startOfMinute(t.clock);
    const slow = await openSlowly(tenant.token);
    const { reader } = tenant;
    const { data } = (
      await t.call('GET', `/api/v1/agents/${reader.agentId}/credentials`, { token: await t.token() })
    ).json;
    await t.call('DELETE', `/api/v1/agents/${reader.agentId}/credentials/${data[0].credentialId}`, {
      token: await t.token(),
    });
    let text = '';
    slow.setEncoding('utf8');
    const ended = new Promise((resolve) => slow.on('close', resolve));
    slow.on('data', (chunk) => (text += chunk));
    slow.resume();
    await ended;
    const { finding } = await verdictOf(text.slice(0, text.lastIndexOf('\n')));
    assert.equal(finding?.code, 'EXPORT_TRUNCATED');
  });
});
