/** Names where ids are: of agents, organizations, resources, people, webhooks, policies and credentials. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type Run, startCommandLine } from '../support/command-line.ts';
import { newAgent } from '../support/harness.ts';

const { folder, asOperator, run } = await startCommandLine({ MULTI_TENANT: 'true' });

async function json<T = Record<string, string>>(args: readonly string[]): Promise<T> {
  const { code, stdout, output } = await run([...args, '--json']);
  assert.equal(code, 0, output);
  return JSON.parse(stdout);
}
const refused = ({ code, stderr }: Run, exitCode: number, ...says: (string | RegExp)[]) => {
  assert.equal(code, exitCode, stderr);
  for (const text of says)
    assert.ok(typeof text === 'string' ? stderr.includes(text) : text.test(stderr), stderr);
};

const me = await json(['whoami']);
const createAgent = async (email: string, organizationId = me.organizationId, displayName?: string) => {
  const { agentType, version, owner, deploymentEnv } = newAgent();
  const fields = { agentType, version, owner, deploymentEnv, organization_id: organizationId };
  const body = { ...fields, email, displayName, capabilities: ['a:read'] };
  return (await json(['agents', 'create', '--body', JSON.stringify(body)])).agentId ?? '';
};
const identifier = 'https://orders.example.com/v1/eu';
const { organizationId: talent } = await json([
  'organizations',
  'create',
  '--name',
  'Talent',
  '--slug',
  'talent',
]);
const screener = await createAgent('Screener@talent.example');
await createAgent('screener@talent.example.com');
const { resourceId } = await json([
  ...['resources', 'create', '--name', 'Orders', '--identifier', identifier, '--scopes', 'a:read'],
]);

describe('a name in place of an id', () => {
  it('of an agent is its e-mail address, in any case; of a resource its identifier or name', async () => {
    assert.equal((await json(['agents', 'get', 'screener@TALENT.example'])).agentId, screener);
    const granted = await json([
      'grants',
      'set',
      'screener@talent.example',
      identifier,
      '--scopes',
      'a:read',
    ]);
    assert.deepEqual([granted.agentId, granted.resourceId], [screener, resourceId]);
    const listed = await json<{ total: number }>([
      'grants',
      'list',
      'screener@talent.example',
      '--resource-id',
      'Orders',
    ]);
    assert.equal(listed.total, 1);
    const events = await json<{ data: { agentId: string }[] }>([
      'audit',
      'list',
      '--agent-id',
      'screener@talent.example',
    ]);
    assert.ok(events.data.length > 0 && events.data.every(({ agentId }) => agentId === screener));
  });

  it('of both agents of a delegation', async () => {
    const lender = await createAgent('lender@talent.example');
    await json(['agents', 'update', lender, '--allowed-scopes', 'agents:read']);
    const lend = ['delegations', 'create', '--delegator-id', 'lender@talent.example'];
    const to = [...lend, '--delegatee-id', 'screener@talent.example', '--scopes', 'agents:read'];
    const { delegatorId, delegateeId } = await json(to);
    assert.deepEqual([delegatorId, delegateeId], [lender, screener]);
    refused(
      await run([...to, '--resource', 'Orders']),
      2,
      '--resource[0] must be an absolute http(s) URI without a fragment\n',
    );
  });

  it('of an agent may be its display name; an e-mail address counts before it', async () => {
    const reader = await createAgent('reader@talent.example', me.organizationId, 'Resume reader');
    await createAgent('imitator@talent.example', me.organizationId, 'reader@talent.example');
    const get = async (name: string) => (await json(['agents', 'get', name])).agentId;
    assert.equal(await get('Resume reader'), reader);
    assert.equal(await get('reader@talent.example'), reader);
    const granted = ['grants', 'set', 'Resume reader', identifier, '--scopes', 'a:read'];
    assert.equal((await json(granted)).agentId, reader);
  });

  it('of an organization is its slug, also in an option; a list may mix names and ids', async () => {
    assert.equal((await json(['organizations', 'get', 'talent'])).organizationId, talent);
    const agentId = await createAgent('sender@talent.example', talent);
    const inTalent = await json<{ data: { agentId: string }[] }>([
      'agents',
      'list',
      '--organization-id',
      'talent',
    ]);
    assert.deepEqual(
      inTalent.data.map((agent) => agent.agentId),
      [agentId],
    );
    await json(['members', 'add', 'talent', '--agent-id', 'sender@talent.example', '--role', 'member']);
    await json(['members', 'update', 'talent', 'sender@talent.example', '--role', 'admin']);
    const ids = await json<{ total: number }>([
      'agents',
      'list',
      '--ids',
      `sender@talent.example,${screener}`,
    ]);
    assert.equal(ids.total, 2);
  });

  it('of an organization may be its name; a slug counts before it', async () => {
    const create = (name: string, slug: string) =>
      json(['organizations', 'create', '--name', name, '--slug', slug]);
    const byName = await create(
      'Acme Corp (the first one, with a name that no slug could have, in Europe)',
      'acme',
    );
    await create('talent', 'talent-two');
    const get = async (name: string) => (await json(['organizations', 'get', name])).organizationId;
    assert.equal(await get(byName.name ?? ''), byName.organizationId);
    assert.equal(await get('talent'), talent);
    const twins = [await create('Twin', 'twin-one'), await create('Twin', 'twin-two')];
    const ambiguous = await run(['organizations', 'get', 'Twin']);
    for (const { organizationId, slug } of twins)
      refused(ambiguous, 2, new RegExp(`^  ${organizationId}  slug=${slug}  name=Twin  status=active$`, 'm'));
    refused(
      await run(['export', '--organization', 'Twin']),
      1,
      /2 organizations are named Twin; give the slug of one: twin-\w+, twin-\w+$/m,
    );
  });

  it('of an organization in the archive, which has ids alone, is looked up at the server', async () => {
    mkdirSync(join(folder, 'archive'));
    const AUDIT_ARCHIVE_URL = pathToFileURL(join(folder, 'archive')).href;
    const list = (organization: string, env: Record<string, string>) =>
      run(['audit', 'archive', 'list', '--organization', organization], { env });
    const found = await list('talent', { ...asOperator, AUDIT_ARCHIVE_URL });
    assert.equal(found.code, 0, found.output);
    assert.equal(
      found.stderr.split('\n')[0],
      `using organization talent (${talent}) at ${asOperator.COUNTERSIGN_URL}`,
    );
    refused(await list('talen', { ...asOperator, AUDIT_ARCHIVE_URL }), 5, 'did you mean talent?');
    refused(
      await list('talent', { AUDIT_ARCHIVE_URL }),
      3,
      'give the id instead of talent',
      'countersign login',
    );
    assert.equal((await list(talent ?? '', { AUDIT_ARCHIVE_URL })).code, 0);
  });

  it('of a person is found in the organization of the command, or the own one', async () => {
    const invite = (organization: string, subject: string) => [
      ...['people', 'invite', organization, '--issuer', 'https://idp.example.com', '--subject', subject],
      ...['--name', 'Ada', '--role', 'viewer', '--agent-id'],
    ];
    const there = await json([...invite('talent', '1'), 'sender@talent.example']);
    const here = await json([...invite(me.organizationId ?? '', '2'), 'screener@talent.example']);
    const changed = await json(['people', 'update', 'talent', 'Ada', '--role', 'viewer', '--name', 'Ada L']);
    assert.equal(changed.personId, there.personId);
    const resource = await json<{ approvers: string[] }>([
      'resources',
      'update',
      'Orders',
      '--approvers',
      'Ada',
    ]);
    assert.deepEqual(resource.approvers, [here.personId]);
  });

  it('of a webhook, a trust policy and a credential is its name', async () => {
    const target = ['--webhook-url', 'https://hooks.example.com/x', '--events', 'agent.created'];
    const { id } = await json(['webhooks', 'create', '--name', 'Hook one', ...target]);
    assert.equal((await json(['webhooks', 'pause', 'Hook one'])).id, id);
    await json(['agents', 'update', 'screener@talent.example', '--allowed-scopes', 'agents:read']);
    const policy = [
      '--provider',
      'github',
      '--audiences',
      'https://x.example',
      '--subject',
      'repo:a/b:ref:refs/heads/main',
    ];
    const { policyId } = await json([
      ...[
        'trust-policies',
        'create',
        '--agent-id',
        'screener@talent.example',
        '--name',
        'CI',
        '--scopes',
        'agents:read',
      ],
      ...policy,
    ]);
    assert.equal((await json(['trust-policies', 'get', 'CI'])).policyId, policyId);
    const { credentialId } = await json(['credentials', 'create', 'screener@talent.example', '--name', 'ci']);
    const rotated = await json(['credentials', 'rotate', 'screener@talent.example', 'ci', '--yes']);
    assert.equal(rotated.credentialId, credentialId);
  });

  it('is shown beside the id in the question before a change that ends something', async () => {
    await createAgent('old@talent.example');
    const { stderr } = await run(['agents', 'decommission', 'old@talent.example'], {
      answers: [['[y/N]', 'n\r']],
    });
    assert.match(
      stderr,
      /\(\/agents\/([0-9a-f-]{36}): agent old@talent\.example \(\1\) of organization [0-9a-f-]{36}\)\? \[y\/N\]/,
    );
  });

  it('stands in a path of `api`, encoded; unknown segments go to the server as they are', async () => {
    const agent = JSON.parse((await run(['api', 'GET', '/agents/screener@talent.example'])).stdout);
    assert.equal(agent.agentId, screener);
    const path = `/agents/screener@talent.example/grants/${encodeURIComponent(identifier)}`;
    assert.equal((await run(['api', 'DELETE', path, '--yes'])).code, 0);
    refused(await run(['api', 'GET', '/agents/unknown@talent.example']), 1, /answered 400 VALIDATION_ERROR/);
  });

  it('also names the agent of scaffold', async () => {
    const { code, output } = await run([
      'scaffold',
      'screener@talent.example',
      '--out',
      join(folder, 'project'),
    ]);
    assert.equal(code, 0, output);
  });
});

describe('a name that others have chosen', () => {
  const get = (name: string) => run(['agents', 'get', name]);

  it('exit 5: a text with @ is an e-mail address, and no display name', async () => {
    const imitator = await createAgent('shadow@talent.example', me.organizationId, 'deploy@acme.example');
    refused(await get('deploy@acme.example'), 5, 'there is no agent deploy@acme.example');
    refused(
      await run(['grants', 'set', 'deploy@acme.example', identifier, '--scopes', 'a:read']),
      5,
      'there is no agent deploy@acme.example',
    );
    assert.equal((await json(['agents', 'get', imitator])).agentId, imitator);
  });

  it('exit 2: display names that differ in case or in the form of Unicode are twins', async () => {
    for (const [one, other] of [
      ['Billing bot', 'billing BOT'],
      ['B\u00fcro bot', 'bu\u0308ro bot'],
    ] as const) {
      const suffix = crypto.randomUUID();
      const own = await createAgent(`own-${suffix}@talent.example`, me.organizationId, one);
      assert.equal((await json(['agents', 'get', other])).agentId, own, 'in any case');
      const foreign = await createAgent(`foreign-${suffix}@talent.example`, talent, other);
      for (const name of [one, other]) refused(await get(name), 2, '2 things are called', own, foreign);
    }
  });

  it('exit 2: a display name of another organization alone names its id', async () => {
    const foreign = await createAgent('alone@talent.example', talent, 'Only there');
    refused(
      await get('only there'),
      2,
      'the only agent that is called only there belongs to another organization',
      `${foreign}  email=alone@talent.example  organizationId=${talent}`,
    );
    const added = await run(['members', 'add', 'talent', '--agent-id', 'Only there', '--role', 'member']);
    assert.equal(added.code, 0, added.output);
  });

  it('exit 5: what has ended has no free name', async () => {
    const ended = await createAgent('ended@talent.example', me.organizationId, 'Ended reader');
    await json(['agents', 'decommission', ended, '--yes']);
    refused(await get('Ended reader'), 5, 'there is no agent Ended reader');
    assert.equal((await json(['agents', 'get', ended])).agentId, ended);
    assert.equal((await json(['agents', 'get', 'ended@talent.example'])).agentId, ended);
    const { organizationId = '' } = await json([
      ...['organizations', 'create', '--name', 'Ended place', '--slug', 'ended-place'],
    ]);
    const deleted = await run(['organizations', 'delete', organizationId, '--yes']);
    assert.equal(deleted.code, 0, deleted.output);
    refused(await run(['organizations', 'get', 'Ended place']), 5, 'there is no organization Ended place');
  });

  it('is said on standard error, with its id and organization; an id is not', async () => {
    const named = await get('screener@talent.example');
    assert.equal(
      named.stderr,
      `using agent Screener@talent.example (${screener}) of organization ${me.organizationId}\n`,
    );
    assert.equal((await get(screener)).stderr, '');
  });

  it('may have a comma: in a list it is in double quotes', async () => {
    const invite = ['people', 'invite', me.organizationId ?? '', '--issuer', 'https://idp.example.com'];
    const { personId } = await json([
      ...invite,
      ...['--subject', 'comma', '--name', 'Lovelace, Ada', '--role', 'member'],
    ]);
    const { approvers } = await json<{ approvers: string[] }>([
      ...['resources', 'update', 'Orders', '--approvers', `"Lovelace, Ada"`],
    ]);
    assert.deepEqual(approvers, [personId]);
    refused(
      await run(['resources', 'update', 'Orders', '--approvers', 'Lovelace, Ada']),
      5,
      'there is no person Lovelace',
    );
  });
});

describe('a name that is not one id', () => {
  it('exit 2: several candidates are listed with what tells them apart', async () => {
    const email = 'twin@talent.example';
    const twins = [await createAgent(email), await createAgent(email, talent)];
    const answer = await run(['agents', 'suspend', email]);
    refused(
      answer,
      2,
      /^countersign: 2 things are called twin@talent\.example .* one agent; give the id of one:$/m,
    );
    for (const [twin, organizationId] of [
      [twins[0], me.organizationId],
      [twins[1], talent],
    ])
      refused(
        answer,
        2,
        new RegExp(`^  ${twin}  email=${email}  organizationId=${organizationId}  status=active$`, 'm'),
      );
    assert.equal(answer.stdout, '');
  });

  it('exit 2: agents with one display name are told apart by their e-mail addresses', async () => {
    const twins = [
      await createAgent('left@talent.example', me.organizationId, 'Twin reader'),
      await createAgent('right@talent.example', me.organizationId, 'Twin reader'),
    ];
    refused(
      await run(['agents', 'suspend', 'Twin reader']),
      2,
      '2 things are called Twin reader',
      `${twins[0]}  email=left@talent.example`,
      `${twins[1]}  email=right@talent.example`,
    );
  });

  it('exit 5: it says what was looked for, and the nearest name', async () => {
    refused(
      await run(['agents', 'get', 'screener@talent.exampl']),
      5,
      'there is no agent screener@talent.exampl that this account can see; give its id, e-mail address or display name; did you mean Screener@talent.example?',
    );
    refused(await run(['organizations', 'get', 'Talent!']), 5, 'no organization Talent!', 'id, slug or name');
    refused(await run(['webhooks', 'get', 'Hook on']), 5, 'id, name or URL', 'did you mean Hook one?');
    refused(await run(['agents', 'get', '7c9e6679-7425-40de-944b-e07fc1f90aeX']), 5, 'no agent 7c9e6679');
  });

  it('exit 4: an account that may not list them is told to give the id', async () => {
    const agentId = await createAgent('powerless@talent.example');
    const { clientSecret } = await json(['credentials', 'create', agentId]);
    const env = {
      ...asOperator,
      COUNTERSIGN_CLIENT_ID: agentId,
      COUNTERSIGN_CLIENT_SECRET: clientSecret ?? '',
    };
    refused(
      await run(['agents', 'get', 'a@b.example'], { env }),
      4,
      'cannot look up the agent a@b.example; give its id',
    );
  });
});
