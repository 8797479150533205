/** Every generated command against a real server: the example of its operation, with entries that exist. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { listen } from '../../../../test/support/clients/listening.ts';
import { ioFor } from '../../../../test/support/commands-in-process.ts';
import { newAgent } from '../../../../test/support/harness.ts';
import { createProgram } from '../../program/program.ts';
import { registerServerCommands } from '../../program/server-commands.ts';
import { ApiError } from '../http.ts';
import { type ApiCommand, apiCommands } from './api-commands.ts';
import { loadOperations } from './document.ts';
import { exampleArguments } from './example.ts';
import { registerApi } from './register-api.ts';

const t = await listen();
const operations = loadOperations();
const folder = mkdtempSync(join(tmpdir(), 'countersign-every-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const [exportFile, tokenFile] = [join(folder, 'export'), join(folder, 'token.txt')];
const env = {
  COUNTERSIGN_URL: t.issuer,
  COUNTERSIGN_CLIENT_ID: t.operator.clientId,
  COUNTERSIGN_CLIENT_SECRET: t.operator.clientSecret,
  COUNTERSIGN_CONFIG: join(folder, 'profiles.json'),
};

async function call(method: 'GET' | 'POST' | 'PUT' | 'PATCH', path: string, payload?: object) {
  const options = { token: await t.token(), ...(payload && { payload }) };
  const answer = await t.call(method, `/api/v1${path}`, options);
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
}

const agent = async (changes = {}): Promise<string> =>
  (await call('POST', '/agents', newAgent(changes))).agentId;
const delegation = async () =>
  call('POST', '/delegations', { delegateeId: await agent(), scopes: ['agents:read'] });
const organization = async (): Promise<string> =>
  (await call('POST', '/organizations', { name: 'Talent', slug: `talent-${randomUUID()}` })).organizationId;
const resource = async (): Promise<string> => {
  const identifier = `https://${randomUUID()}.example.com`;
  const payload = { identifier, name: 'Talent', scopes: [{ name: 'resumes:read' }] };
  return (await call('POST', '/resources', payload)).resourceId;
};
const webhook = async (): Promise<string> => {
  const payload = { name: 'Talent', url: 'https://hooks.example.com', events: ['agent.created'] };
  return (await call('POST', '/webhooks', payload)).id;
};

/** A request to a person who was invited. */
const approval = async (): Promise<string> => {
  const person = { issuer: 'https://idp.example.com', subject: randomUUID(), name: 'Ada', role: 'member' };
  const { personId } = await call('POST', `/organizations/${t.operator.organizationId}/people`, person);
  const identifier = `https://${randomUUID()}.example.com`;
  const scopes = [{ name: 'resumes:read' }];
  await call('POST', '/resources', { identifier, name: 'Talent', scopes, peopleScopes: ['resumes:read'] });
  const { clientId, clientSecret } = t.operator;
  const answer = await t.form('/api/v1/bc-authorize', {
    ...{ client_id: clientId, client_secret: clientSecret },
    ...{ resource: identifier, scope: 'resumes:read', login_hint: personId },
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.approval_id;
};

const stream = async (): Promise<string> =>
  (await call('POST', '/ssf/stream', { delivery: { method: 'urn:ietf:rfc:8936' } })).stream_id;

/** New entries for the ids of each path, so that no command depends on those before it. The first path that fits counts. */
const entries: readonly (readonly [path: string, make: () => Promise<readonly string[]>])[] = [
  ['/delegations/{chainId}', async () => [(await delegation()).chainId]],
  [
    '/agents/{agentId}/credentials/{credentialId}',
    async () => {
      const agentId = await agent();
      return [agentId, (await call('POST', `/agents/${agentId}/credentials`, {})).credentialId];
    },
  ],
  [
    '/agents/{agentId}/grants/{resourceId}',
    async () => {
      const [agentId, resourceId] = [await agent(), await resource()];
      await call('PUT', `/agents/${agentId}/grants/${resourceId}`, { scopes: ['resumes:read'] });
      return [agentId, resourceId];
    },
  ],
  ['/agents/{agentId}', async () => [await agent()]],
  [
    '/resources/{resourceId}/shares/{organizationId}',
    async () => {
      const [resourceId, organizationId] = [await resource(), await organization()];
      await call('PUT', `/resources/${resourceId}/shares/${organizationId}`, { scopes: ['resumes:read'] });
      return [resourceId, organizationId];
    },
  ],
  [
    '/shares/{resourceId}',
    async () => {
      // Of another organization: the API registers resources in the caller's own.
      const resourceId = await resource();
      await t.sql('update resources set organization_id = $2 where resource_id = $1', [
        resourceId,
        await organization(),
      ]);
      const path = `/resources/${resourceId}/shares/${t.operator.organizationId}`;
      await call('PUT', path, { scopes: ['resumes:read'] });
      return [resourceId];
    },
  ],
  ['/resources/{resourceId}', async () => [await resource()]],
  [
    '/organizations/{orgId}/members/{agentId}',
    async () => {
      const orgId = await organization();
      const agentId = await agent({ organization_id: orgId });
      await call('POST', `/organizations/${orgId}/members`, { agentId, role: 'member' });
      return [orgId, agentId];
    },
  ],
  [
    '/organizations/{orgId}/people/{personId}',
    async () => {
      const orgId = await organization();
      const agentId = await agent({ organization_id: orgId });
      const identity = { issuer: 'https://idp.example.com', subject: randomUUID(), name: 'Ada' };
      const payload = { ...identity, role: 'admin', agentId };
      return [orgId, (await call('POST', `/organizations/${orgId}/people`, payload)).personId];
    },
  ],
  [
    '/organizations/{orgId}/connections/{connectionId}',
    async () => {
      const orgId = await organization();
      const client = { issuer: 'https://idp.example.com', clientId: randomUUID(), clientSecret: 'secret' };
      const path = `/organizations/${orgId}/connections`;
      return [orgId, (await call('POST', path, { name: 'Login', ...client })).connectionId];
    },
  ],
  ['/approvals/{approvalId}', async () => [await approval()]],
  ['/organizations/{orgId}', async () => [await organization()]],
  [
    '/federation/partners/{id}',
    async () => {
      const issuer = `https://${randomUUID()}.example.com`;
      const payload = { name: 'Talent', issuer, jwksUri: `${issuer}/jwks.json` };
      return [(await call('POST', '/federation/trust', payload)).id];
    },
  ],
  [
    '/oidc/trust-policies/{policyId}',
    async () => {
      const rule = { audiences: [t.issuer], subject: `repo:talent/${randomUUID()}:ref:refs/heads/main` };
      const names = { agentId: await agent(), name: 'Talent', provider: 'github' };
      const policy = { ...names, ...rule, scopes: ['agents:read'] };
      return [(await call('POST', '/oidc/trust-policies', policy)).policyId];
    },
  ],
  ['/audit/{eventId}', async () => [(await call('GET', '/audit')).data[0].eventId]],
  [
    '/marketplace/',
    async () => {
      const texts = { title: 'Screener', summary: 'Scores resumes.' };
      const listing = await call('POST', '/marketplace/listings', { agentId: await agent(), ...texts });
      await call('PATCH', `/marketplace/listings/${listing.listingId}`, { status: 'published' });
      return [listing.listingId];
    },
  ],
  [
    '/webhooks/{id}/deliveries/{deliveryId}',
    async () => {
      const id = await webhook();
      await call('POST', `/webhooks/${id}/test`);
      return [id, (await call('GET', `/webhooks/${id}/deliveries`)).deliveries[0].id];
    },
  ],
  ['/webhooks/{id}', async () => [await webhook()]],
  ['/ssf/poll/{streamId}', async () => [await stream()]],
];

/** Where this server refuses the example, and with which code. */
const refusals: Readonly<Record<string, string>> = {
  'audit download-day': 'ARCHIVE_NOT_FOUND',
  'tiers upgrade': 'TIER_UPGRADE_NOT_REQUIRED',
  'billing checkout': 'TIER_UPGRADE_NOT_REQUIRED',
  'billing cancel-subscription': 'SUBSCRIPTION_NOT_FOUND',
};

/** Values in place of those of the example: ids that exist, and a time that is over. */
async function changesOf(command: ApiCommand, [id]: readonly string[]): Promise<string[]> {
  const home = command.group === 'people' ? { organization_id: id } : {};
  const flags = command.fields
    .filter((field) => field.in === 'body' || field.isRequired)
    .map(({ flag }) => flag);
  const agentId = flags.includes('agent-id') ? ['--agent-id', await agent(home)] : [];
  const delegateeId = flags.includes('delegatee-id') ? ['--delegatee-id', await agent()] : [];
  const since = flags.includes('since') ? ['--since', new Date(t.clock.now() - 1_000).toISOString()] : [];
  const streamId = flags.includes('stream-id') ? ['--stream-id', await stream()] : [];
  return [...agentId, ...delegateeId, ...since, ...streamId];
}

async function secretOf({ group, verb }: ApiCommand): Promise<string> {
  if (group === 'connections') return 'secret';
  return group === 'delegations' && verb === 'verify' ? (await delegation()).delegationToken : t.token();
}

async function wordsOf(command: ApiCommand): Promise<string[]> {
  const { path } = command.operation;
  const make = command.args.length > 0 ? entries.find(([start]) => path.startsWith(start))?.[1] : undefined;
  const ids = (await make?.()) ?? [];
  let next = 0;
  const words = exampleArguments(command, { secretFile: tokenFile }).map((word) =>
    /^<\w+>$/.test(word) ? (ids[next++] ?? assert.fail(`no entry for ${path}`)) : word,
  );
  return [
    ...words,
    ...(await changesOf(command, ids)),
    ...(command.isJson ? [] : ['--output', exportFile]),
    ...(command.isDestructive ? ['--yes'] : []),
  ];
}

/** The text on standard output and standard error. */
async function run(words: readonly string[]): Promise<string> {
  let printed = '';
  const io = ioFor(env, (text) => {
    printed += text;
  });
  const program = createProgram('', '0', io);
  registerServerCommands(program, io);
  registerApi(program, io, { operations, words });
  await program.parseAsync(words, { from: 'user' });
  return printed;
}

describe('every command is accepted by the server, and its answer is shown', () => {
  for (const command of apiCommands(operations)) {
    const name = `${command.group} ${command.verb}`;
    const refusal = refusals[name];
    it(refusal === undefined ? name : `${name}: ${refusal}`, async () => {
      writeFileSync(tokenFile, await secretOf(command));
      const words = await wordsOf(command);
      if (refusal !== undefined) {
        const isRefused = (error: unknown) => error instanceof ApiError && error.code === refusal;
        await assert.rejects(run(words), isRefused);
        return;
      }
      const printed = await run(words);
      assert.notEqual(command.isJson ? printed : readFileSync(exportFile, 'utf8'), '', words.join(' '));
    });
  }
});
