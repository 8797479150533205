/** `countersign apply` against a running server: the difference, and how files name things. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { execute } from '../support/harness.ts';
import { agentText, startApplyServer } from '../support/scenarios/apply.ts';

const { env, folder, operator, countersign, fileWith, applied, api, agentBy } = await startApplyServer();

const guide = readFileSync(new URL('../../docs/guides/configuration-as-code.md', import.meta.url), 'utf8');
const example = /```yaml\n(# identity\.yaml\n[\s\S]*?)```/.exec(guide)?.[1] ?? '';

describe('the example of the guide', () => {
  it('is planned with exit code 7, applied, and then has no difference', async () => {
    const planned = await applied(example, '--plan');
    assert.equal(planned.code, 7, planned.output);
    assert.match(planned.stdout, /^\+ organization partner$/m);
    assert.match(planned.stdout, /to create\.$/m);
    assert.equal(await agentBy('screener@acme.example'), undefined, 'a plan changes nothing');

    const first = await applied(example, '--yes');
    assert.equal(first.code, 0, first.output);
    assert.match(first.stdout, /signing secret whsec_\S+ {3}shown this once/);
    assert.doesNotMatch(first.output, /T0000\/B0000/, 'the path of a webhook can be a secret');

    const agent = await agentBy('screener@acme.example');
    assert.equal(agent.owner, 'talent-team');
    const { data: grants } = await api('GET', `/agents/${agent.agentId}/grants`);
    assert.deepEqual(grants[0].scopes, ['resumes:read']);
    const shares = await api('GET', `/resources/${grants[0].resourceId}/shares`);
    assert.equal(shares.total, 1);
    assert.equal((await api('GET', '/oidc/trust-policies')).data[0].name, 'deploy');
    assert.equal((await api('GET', '/webhooks')).length, 1);

    for (const options of [['--plan'], ['--yes'], ['--plan', '--prune']]) {
      const again = await applied(example, ...options);
      assert.equal(again.code, 0, again.output);
      assert.match(again.stdout, /No difference\./);
    }
  });
});

describe('the difference', () => {
  it('is shown field by field, applied, and leaves fields alone that the file leaves out', async () => {
    const file = `version: 1\nagents:${agentText('update@example.com', '    allowedScopes: [agents:read]\n')}`;
    assert.equal((await applied(file, '--yes')).code, 0);
    const { agentId } = await agentBy('update@example.com');
    await api('PATCH', `/agents/${agentId}`, { allowedScopes: ['agents:read', 'audit:read'] });

    const changed = `version: 1\nagents:${agentText('UPDATE@example.com', '    status: suspended\n')}`
      .replace('owner: talent', 'owner: people')
      .replace('[resume:read]', '[resume:write, resume:read]');
    const { code, stdout, output } = await applied(changed, '--yes');
    assert.equal(code, 0, output);
    assert.match(stdout, /^~ agent update@example\.com \(organization \S+\)$/m);
    assert.match(stdout, /^ {4}owner +talent → people$/m);
    assert.match(stdout, /^ {4}capabilities +\+ resume:write$/m);
    assert.match(stdout, /^ {4}status +active → suspended$/m);
    assert.match(stdout, /^1 to change\.$/m);
    const agent = await agentBy('update@example.com');
    assert.deepEqual(
      [agent.owner, agent.status, agent.allowedScopes],
      ['people', 'suspended', ['agents:read', 'audit:read']],
    );
    assert.ok(!stdout.includes('\u001b'), 'no colours without a terminal');
  });

  it('names each label of an agent that is added, changed or removed, and null removes the display name', async () => {
    const text = (fields: string) => `version: 1\nagents:${agentText('labelled@example.com', fields)}`;
    const first = await applied(
      text('    displayName: "Reader: one"\n    labels: {team: talent, env: prod, gone: ""}\n'),
      '--yes',
    );
    assert.equal(first.code, 0, first.output);
    assert.match(first.stdout, /^ {4}displayName +Reader: one$/m);
    assert.match(first.stdout, /^ {4}labels +(?=.*team:talent)(?=.*env:prod).*gone:/m);
    const kept = await applied(text(''), '--plan');
    assert.match(kept.stdout, /No difference\./);
    const reordered = await applied(text('    labels: {gone: "", env: prod, team: talent}\n'), '--plan');
    assert.match(reordered.stdout, /No difference\./);

    const second = await applied(
      text('    displayName: null\n    labels: {team: talent, env: test, "cost/center": "4711"}\n'),
      '--yes',
    );
    assert.match(second.stdout, /^ {4}displayName +Reader: one → none$/m);
    assert.match(second.stdout, /^ {4}labels +\+ env:test, \+ cost\/center:4711, - env:prod, - gone:$/m);
    const { displayName, labels } = await agentBy('labelled@example.com');
    assert.deepEqual([displayName, labels], [null, { team: 'talent', env: 'test', 'cost/center': '4711' }]);
    const { stdout } = await countersign(['export']);
    assert.match(stdout, /env: test/);
  });

  it('is one JSON object with --json', async () => {
    const file = fileWith(`version: 1\nagents:${agentText('json@example.com')}`);
    const planned = await countersign(['apply', '-f', file, '--plan', '--json']);
    assert.equal(planned.code, 7);
    const [change] = JSON.parse(planned.stdout).changes;
    assert.deepEqual(
      [change.action, change.kind, change.name, change.status],
      ['create', 'agent', 'json@example.com', 'planned'],
    );
    const done = await countersign(['apply', '-f', file, '--yes', '--json']);
    assert.equal(done.code, 0, done.output);
    assert.equal(JSON.parse(done.stdout).changes[0].status, 'done');
    assert.deepEqual(
      JSON.parse((await countersign(['apply', '-f', file, '--plan', '--json'])).stdout).changes,
      [],
    );
  });

  it('gives a new agent no scopes but those of its entry', async () => {
    const file = fileWith(`version: 1\nagents:${agentText('no-scopes@example.com')}`);
    const { stdout, code, output } = await countersign(['apply', '-f', file, '--yes']);
    assert.equal(code, 0, output);
    assert.match(stdout, /allowedScopes/);
    assert.deepEqual((await agentBy('no-scopes@example.com')).allowedScopes, []);
  });

  it('is recorded in the audit log with the run of the apply as the user agent', async () => {
    const file = fileWith(`version: 1\nagents:${agentText('audited@example.com')}`);
    const { stdout } = await countersign(['apply', '-f', file, '--yes', '--json']);
    const { run, userAgent } = JSON.parse(stdout);
    assert.match(userAgent, /^countersign-apply\/\d+\.\d+\.\d+ \(run [0-9a-f-]{36}\)$/);
    assert.ok(userAgent.includes(run));
    const { agentId } = await agentBy('audited@example.com');
    const { data } = await api('GET', `/audit?action=agent.created&agentId=${agentId}`);
    assert.deepEqual(
      data.map((event: { userAgent: string }) => event.userAgent),
      [userAgent],
    );
  });

  it('is applied from standard input, and from the files of a folder', async () => {
    const text = `version: 1\nagents:${agentText('stdin@example.com')}`;
    const fromInput = await countersign(['apply', '-f', '-', '--yes'], { input: text });
    assert.equal(fromInput.code, 0, fromInput.output);
    const wrong = await countersign(['apply', '-f', '-', '--yes'], { input: 'version: 1\nagent: []' });
    assert.match(
      wrong.output,
      /^countersign: standard input:2:1: unknown key agent; did you mean agents\?$/m,
    );
    assert.equal(wrong.code, 1);

    const parts = join(folder, 'parts');
    mkdirSync(parts);
    writeFileSync(join(parts, 'agents.yml'), `version: 1\nagents:${agentText('folder@example.com')}`);
    writeFileSync(
      join(parts, 'apis.json'),
      JSON.stringify({
        version: 1,
        resources: [{ identifier: 'https://folder.example', name: 'Folder', scopes: ['a', 'b'] }],
      }),
    );
    writeFileSync(
      join(parts, 'grants.yaml'),
      'version: 1\ngrants:\n  - {agent: folder@example.com, resource: https://folder.example, scopes: [b]}\n',
    );
    writeFileSync(join(parts, 'README.md'), 'not a part');
    const first = await countersign(['apply', '-f', parts, '--yes']);
    assert.equal(first.code, 0, first.output);
    assert.equal((await countersign(['apply', '-f', parts, '--plan'])).code, 0);
  });

  it('shows names that others chose in one line', async () => {
    const url = 'https://fake.example/';
    const { id } = await api('POST', '/webhooks', { name: 'a', url, events: ['*'] });
    // Of an earlier version, which accepted it.
    await execute(env.DATABASE_URL, 'update webhook_subscriptions set name = $1 where subscription_id = $2', [
      'a\n+ agent fake@example.com',
      id,
    ]);
    const { stdout } = await applied(
      `version: 1\norganizations: []\nwebhooks: []\nagents:${agentText('json@example.com')}`,
      '--prune',
      '--plan',
    );
    await api('DELETE', `/webhooks/${id}`);
    assert.match(stdout, /^- webhook a\\u\{000a\}\+ agent fake@example\.com \(https:\/\/fake\.example\)/m);
    assert.doesNotMatch(stdout, /^\+ agent fake/m);
  });

  it('takes ids in place of names', async () => {
    const agent = await agentBy('folder@example.com');
    const { resourceId } = (await api('GET', '/resources?q=folder.example')).data[0];
    const grant = `version: 1\ngrants:\n  - agent: ${agent.agentId}\n    resource: ${resourceId}\n    scopes: [a]\n`;
    const { code, stdout, output } = await applied(grant, '--yes');
    assert.equal(code, 0, output);
    assert.match(stdout, /^~ grant of https:\/\/folder\.example to folder@example\.com$/m);
    assert.match(stdout, /^ {4}scopes {2}\+ a, - b$/m);
  });
});

describe('without a terminal', () => {
  it('2 and nothing is changed unless --yes is given', async () => {
    const { code, output } = await applied(`version: 1\nagents:${agentText('unasked@example.com')}`);
    assert.equal(code, 2);
    assert.match(output, /\+ agent unasked@example\.com/);
    assert.match(output, /nothing was changed: without a terminal to ask on, apply needs --yes/);
    assert.equal(await agentBy('unasked@example.com'), undefined);
  });
});

describe('references', () => {
  const cases: [string, string, RegExp][] = [
    [
      'an unknown organization',
      `organizations:\n  - {slug: exists, name: E}\nagents:${agentText('r@example.com', '    organization: exits\n')}`,
      /:11:19: there is no organization exits; did you mean exists\?/,
    ],
    [
      'an unknown agent',
      `agents:${agentText('known@example.com')}grants:\n  - {agent: knwn@example.com, resource: https://folder.example, scopes: [a]}`,
      /:10:13: there is no agent knwn@example\.com; did you mean known@example\.com\?/,
    ],
    [
      'an unknown resource',
      'grants:\n  - {agent: folder@example.com, resource: https://folder.exampl, scopes: [a]}',
      /:3:43: there is no API https:\/\/folder\.exampl; did you mean https:\/\/folder\.example\?/,
    ],
    [
      'a scope that the resource lacks',
      'grants:\n  - {agent: folder@example.com, resource: https://folder.example, scopes: [c]}',
      /:3:75: c is not a scope of https:\/\/folder\.example/,
    ],
    [
      'a scope that is not shared with the organization of the agent',
      `organizations:\n  - {slug: far, name: F}\nagents:${agentText('far@example.com', '    organization: far\n')}resources:\n  - {identifier: https://near.example, name: N, scopes: [a]}\ngrants:\n  - {agent: far@example.com, resource: https://near.example, scopes: [a]}`,
      /:15:70: a of https:\/\/near\.example is not shared with the organization of far@example\.com/,
    ],
    [
      'a grant of an agent that the file ends',
      `agents:${agentText('folder@example.com', '    status: decommissioned\n')}grants:\n  - {agent: folder@example.com, resource: https://folder.example, scopes: [a]}`,
      /:11:13: folder@example\.com is decommissioned, or will be; it can have no grants/,
    ],
    [
      'the same grant twice',
      'grants:\n  - &g {agent: folder@example.com, resource: https://folder.example, scopes: [a]}\n  - *g',
      /has a grant for https:\/\/folder\.example in an earlier entry/,
    ],
    [
      'a webhook of another organization',
      'organizations:\n  - {slug: other, name: O}\nwebhooks:\n  - {name: W, url: https://a.example, events: ["*"], organization: other}',
      /:5:68: the webhooks of other can be managed only by a client of that organization/,
    ],
    [
      'a new resource of another organization',
      'organizations:\n  - {slug: other, name: O}\nresources:\n  - {identifier: https://o.example, name: W, scopes: [a], organization: other}',
      /:5:73: an API is created in the client's own organization/,
    ],
  ];
  for (const [what, text, expected] of cases)
    it(`1 with the position of ${what}`, async () => {
      const { code, output } = await applied(`version: 1\n${text}\n`, '--yes');
      assert.equal(code, 1);
      assert.match(output, expected);
      assert.doesNotMatch(output, /\n\s+at /);
    });

  it('1 when the client would end itself or its organization', async () => {
    const { email, organizationId } = await api('GET', `/agents/${operator.clientId}`);
    const { slug, name } = await api('GET', `/organizations/${organizationId}`);
    const itself = await applied(
      `version: 1\nagents:${agentText(email, '    status: decommissioned\n')}`,
      '--yes',
    );
    assert.match(itself.output, /it cannot end itself/);
    const own = await applied(
      `version: 1\norganizations:\n  - {slug: ${slug}, name: ${name}, status: deleted}\n`,
      '--yes',
    );
    assert.match(own.output, /belongs to the organization, so it cannot delete it/);
    assert.deepEqual([itself.code, own.code], [1, 1]);
  });
});
