/** With RESOURCE_IDENTIFIERS=verified an identifier belongs to the organization that controls its host. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { startApp } from '../../../test/support/harness.ts';
import { startNameServer } from '../../../test/support/peers/name-server.ts';
import { startReceiver, trustTestAuthority } from '../../../test/support/peers/receivers.ts';
import {
  createResourceClient,
  outcome,
  type TestAgent,
} from '../../../test/support/scenarios/resources/resources.ts';
import { createOutbound } from '../../adapters/outbound/outbound.ts';
import { limits } from '../../contract/limits.ts';
import type { Resource } from './schema.ts';

trustTestAuthority();
const nameServer = await startNameServer();
/** Every name leads to this machine; no other address is reached. */
const outbound = createOutbound({
  allowPrivate: false,
  resolver: nameServer.resolver,
  resolve: async () => ['127.0.0.1'],
  isPublic: (address) => address === '127.0.0.1',
  delay: (_, signal) => sleep(50, undefined, { signal }),
});
const t = await startApp({ MULTI_TENANT: 'true' }, undefined, { outbound });
const { call, tenant, resource, offer, accept, adminOf, grant, grantsOf, agentIn, events } =
  createResourceClient(t);

const newHost = () => `${randomUUID()}.example`;
const verify = ({ token }: { token: string }, { resourceId }: Resource, payload?: object) =>
  call('POST', `/resources/${resourceId}/verify`, token, payload);
const approve = async (pending: Resource) => verify({ token: await t.token() }, pending, { approve: true });

const proofOf = ({ verification }: Resource) => `countersign-verification=${verification.token}`;
const publish = (host: string, ...pending: Resource[]) =>
  nameServer.records.set(`_countersign.${host}`, [
    ['v=spf1 -all'],
    ...pending.map((each) => {
      // Long texts come in parts.
      const proof = proofOf(each);
      return [proof.slice(0, 20), proof.slice(20)];
    }),
  ]);

const tokenFor = (agent: TestAgent, identifier: string) =>
  t.askToken({
    grant_type: 'client_credentials',
    client_id: agent.clientId,
    client_secret: agent.clientSecret,
    resource: identifier,
  });

/** A host that publishes this text, on a port of its own. */
const textHost = async (text: () => string, status = 200) => {
  const server = await startReceiver((_request, response) => void response.writeHead(status).end(text()));
  return { server, host: `receiver.test:${server.port}` };
};

describe('a new resource', () => {
  it('is pending, with the host and a token of its own, and its tokens are 400 invalid_target until it is verified', async () => {
    const owner = await tenant();
    const host = newHost();
    const pending = await resource(owner, { identifier: `https://${host}/orders` });
    const { token, ...rest } = pending.verification;
    assert.deepEqual(rest, { status: 'pending', host, method: null });
    assert.match(token ?? '', /^[\w-]{43}$/);
    assert.equal(pending.identifier, `https://${host}/orders`);
    const second = await resource(owner, { identifier: `https://${host}/other` });
    assert.notEqual(second.verification.token, token);
    // Reading, changing and granting work before the verification.
    assert.equal((await grant(owner, owner.agentId, pending.resourceId, ['refund'])).status, 200);
    const listed = (await call('GET', `/resources?q=${host}`, owner.token)).json;
    assert.deepEqual(listed.data[1], pending);
    const refused = await tokenFor(owner, pending.identifier);
    assert.deepEqual([refused.status, refused.json.error], [400, 'invalid_target']);
    // Nor is there a token for the name that stands for it in the database.
    const byName = await tokenFor(owner, `pending:${pending.resourceId}`);
    assert.equal(byName.status, 400, byName.text);

    const unproven = await verify(owner, pending);
    assert.equal(outcome(unproven), '422 RESOURCE_NOT_VERIFIED');
    assert.deepEqual(unproven.json.details.expected, `countersign-verification=${token}`);
    assert.equal(unproven.json.details.dns.name, `_countersign.${host}`);
    assert.equal(unproven.json.details.wellKnown.url, `https://${host}/.well-known/countersign-verification`);
    assert.equal((await tokenFor(owner, pending.identifier)).status, 400);

    publish(host, pending);
    const verified = await verify(owner, pending);
    assert.equal(verified.status, 200, verified.text);
    assert.deepEqual(verified.json.verification, { status: 'verified', host, method: 'dns', token });
    const issued = await tokenFor(owner, pending.identifier);
    assert.equal(issued.status, 200, issued.text);
    const { active, aud } = (
      await t.form('/api/v1/token/introspect', { token: issued.json.access_token }, owner.token)
    ).json;
    assert.deepEqual([active, aud], [true, pending.identifier]);
    // Again: as it is, without asking the host.
    const asked = nameServer.queries.length;
    assert.deepEqual((await verify(owner, pending)).json, verified.json);
    assert.equal(nameServer.queries.length, asked);
    assert.deepEqual(
      (await events(owner.organizationId))
        .filter(
          ({ action, metadata }) =>
            action.startsWith('resource.') && metadata.resourceId === pending.resourceId,
        )
        .map(({ action, metadata }) => [action, metadata.verificationMethod]),
      [
        ['resource.created', undefined],
        ['resource.updated', 'dns'],
      ],
    );
  });

  it('409 RESOURCE_ALREADY_EXISTS inside one organization only, also by the other spelling', async () => {
    const [owner, other] = [await tenant(), await tenant()];
    const identifier = `https://${newHost()}/orders`;
    const pending = await resource(owner, { identifier });
    for (const spelling of [identifier, `${identifier}/`]) {
      const body = { identifier: spelling, name: 'Orders', scopes: [{ name: 'refund' }] };
      const again = await call('POST', '/resources', owner.token, body);
      assert.equal(outcome(again), '409 RESOURCE_ALREADY_EXISTS');
    }
    const theirs = await resource(other, { identifier });
    assert.equal((await approve(pending)).status, 200);
    assert.equal(
      outcome(
        await call('POST', '/resources', owner.token, { identifier, name: 'O', scopes: [{ name: 'a' }] }),
      ),
      '409 RESOURCE_ALREADY_EXISTS',
    );
    // A third organization cannot tell that the identifier is taken.
    const third = await tenant();
    assert.equal((await resource(third, { identifier })).verification.status, 'pending');
    assert.equal(outcome(await verify(other, theirs)), '422 RESOURCE_NOT_VERIFIED');
  });

  it('cannot be squatted: the first organization that proves the host has it, the others 409 at verify', async () => {
    const [squatter, owner] = [await tenant(), await tenant()];
    const host = newHost();
    const identifier = `https://${host}`;
    const squatted = await resource(squatter, { identifier });
    await grant(squatter, squatter.agentId, squatted.resourceId, ['refund']);
    const own = await resource(owner, { identifier });
    await grant(owner, owner.agentId, own.resourceId, ['orders:read']);
    publish(host, own);
    assert.equal(outcome(await verify(squatter, squatted)), '422 RESOURCE_NOT_VERIFIED');
    assert.equal((await verify(owner, own)).status, 200);
    const issued = await tokenFor(owner, identifier);
    assert.equal(issued.json.scope, 'orders:read', issued.text);
    assert.equal((await tokenFor(squatter, identifier)).json.error, 'invalid_target');
    publish(host, own, squatted);
    assert.equal(outcome(await verify(squatter, squatted)), '409 RESOURCE_ALREADY_EXISTS');
    assert.equal(outcome(await approve(squatted)), '409 RESOURCE_ALREADY_EXISTS');
    // The slower one can delete its resource.
    assert.equal((await call('DELETE', `/resources/${squatted.resourceId}`, squatter.token)).status, 204);
    assert.equal((await tokenFor(owner, identifier)).status, 200);
  });

  it('of two organizations that verify at once, exactly one has it', async () => {
    const owners = [await tenant(), await tenant()] as const;
    const host = newHost();
    const pending = [
      await resource(owners[0], { identifier: `https://${host}/v1` }),
      await resource(owners[1], { identifier: `https://${host}/v1/` }),
    ] as const;
    publish(host, ...pending);
    const answers = await Promise.all([verify(owners[0], pending[0]), verify(owners[1], pending[1])]);
    assert.deepEqual(answers.map(outcome).sort(), ['200', '409 RESOURCE_ALREADY_EXISTS']);
  });

  it('with a loopback identifier is verified at once in each organization, which has it for its own agents', async () => {
    const [owner, other, third] = [await tenant(), await tenant(), await tenant()];
    const port = 10_000 + Math.floor(Math.random() * 50_000);
    for (const identifier of [
      `http://localhost:${port}`,
      `https://127.0.0.1:${port}/a`,
      `http://[::1]:${port}`,
    ]) {
      const { host } = new URL(identifier);
      const own = await resource(owner, { identifier });
      const theirs = await resource(other, { identifier });
      for (const { verification } of [own, theirs])
        assert.deepEqual(verification, { status: 'verified', host, method: null, token: null });
      await grant(owner, owner.agentId, own.resourceId, ['refund']);
      assert.equal((await tokenFor(other, identifier)).json.error, 'invalid_target');
      await grant(other, other.agentId, theirs.resourceId, ['orders:read']);
      assert.equal((await tokenFor(third, identifier)).json.error, 'invalid_target');
      const issued = [await tokenFor(owner, identifier), await tokenFor(other, identifier)] as const;
      assert.deepEqual(
        issued.map(({ json }) => [decodeJwt(json.access_token).aud, json.scope]),
        [
          [identifier, 'refund'],
          [identifier, 'orders:read'],
        ],
      );
      const isActive = async (reader: TestAgent, { json }: (typeof issued)[number]) =>
        (await t.form('/api/v1/token/introspect', { token: json.access_token }, reader.token)).json.active;
      const active = async () => [
        await isActive(owner, issued[0]),
        await isActive(other, issued[1]),
        await isActive(owner, issued[1]),
        await isActive(other, issued[0]),
      ];
      // From now on the status of the tokens is cached.
      t.clock.advance(61_000);
      assert.deepEqual(await active(), [true, true, false, false]);
      // Inside one organization it is taken, in both spellings.
      const body = { name: 'Orders', scopes: [{ name: 'refund' }] };
      for (const spelling of [identifier, `${identifier}/`])
        assert.equal(
          outcome(await call('POST', '/resources', other.token, { ...body, identifier: spelling })),
          '409 RESOURCE_ALREADY_EXISTS',
        );
      assert.equal((await call('DELETE', `/resources/${own.resourceId}`, owner.token)).status, 204);
      assert.deepEqual(await active(), [false, true, false, false]);
      assert.equal((await tokenFor(owner, identifier)).json.error, 'invalid_target');
      assert.equal((await tokenFor(other, identifier)).status, 200);
      const again = await resource(owner, { identifier });
      await grant(owner, owner.agentId, again.resourceId, ['refund']);
      assert.equal((await tokenFor(owner, identifier)).status, 200);
      const [listed] = (await call('GET', `/resources?q=${host}`, owner.token)).json.data;
      assert.deepEqual(listed, again);
      assert.deepEqual(await grantsOf(owner, owner.agentId), { [identifier]: ['refund'] });
      await call('DELETE', `/resources/${again.resourceId}`, owner.token);
    }
  });

  it('with a loopback identifier can be delegated and cannot be shared: 400 VALIDATION_ERROR', async () => {
    const [owner, other] = [await tenant(), await tenant()];
    const identifier = `http://localhost:${10_000 + Math.floor(Math.random() * 50_000)}/shared`;
    const [own] = [await resource(owner, { identifier }), await resource(other, { identifier })];
    await grant(owner, owner.agentId, own.resourceId, ['refund']);
    const delegate = async ({ token, organizationId }: TestAgent) =>
      call('POST', '/delegations', token, {
        delegateeId: (await agentIn(organizationId, [])).agentId,
        scopes: ['refund'],
        resource: [identifier],
      });
    assert.equal(outcome(await delegate(owner)), '201');
    assert.equal(outcome(await delegate(other)), '403 DELEGATION_SCOPE_EXCEEDED');
    for (const caller of [owner, { token: await t.token() }])
      assert.equal(
        outcome(await offer(caller, own.resourceId, other.organizationId, ['refund'])),
        '400 VALIDATION_ERROR',
      );
  });

  it('with a loopback identifier that waits since an earlier version is verified without a proof', async () => {
    const owner = await tenant();
    const identifier = `http://localhost:${10_000 + Math.floor(Math.random() * 50_000)}/waits`;
    const own = await resource(owner, { identifier });
    await grant(owner, owner.agentId, own.resourceId, ['refund']);
    await t.sql(
      `update resources set identifier = 'pending:' || resource_id, pending_identifier = $2, verification_token = 'x'
       where resource_id = $1`,
      [own.resourceId, identifier],
    );
    assert.equal((await tokenFor(owner, identifier)).json.error, 'invalid_target');
    const asked = nameServer.queries.length;
    assert.equal((await verify(owner, own)).json.verification.status, 'verified');
    assert.equal(nameServer.queries.length, asked);
    assert.equal((await tokenFor(owner, identifier)).status, 200);
  });

  it("has a loopback identifier beside another organization's of an open instance, which no other organization finds", async () => {
    const open = await startApp({ RESOURCE_IDENTIFIERS: 'open' }, t);
    const client = createResourceClient(open);
    const [earlier, owner] = [await tenant(), await tenant()];
    const identifier = `http://localhost:${10_000 + Math.floor(Math.random() * 50_000)}/earlier`;
    const theirs = await client.resource(earlier, { identifier });
    await grant(earlier, earlier.agentId, theirs.resourceId, ['orders:read']);
    const own = await resource(owner, { identifier });
    assert.equal(own.verification.status, 'verified');
    await grant(owner, owner.agentId, own.resourceId, ['refund']);
    const scopesOf = async (agent: TestAgent) => (await tokenFor(agent, identifier)).json.scope;
    assert.deepEqual([await scopesOf(earlier), await scopesOf(owner)], ['orders:read', 'refund']);
  });
});

describe('a refusal', () => {
  it("tells nothing of other organizations' identifiers, also in the log of the agent's organization", async () => {
    const [owner, other] = [await tenant(), await tenant()];
    const taken = await resource(owner, { identifier: `https://${newHost()}/taken` });
    assert.equal((await approve(taken)).status, 200);
    const reserved = await resource(owner, { identifier: `https://${newHost()}/reserved` });
    assert.equal((await approve(reserved)).status, 200);
    assert.equal((await call('DELETE', `/resources/${reserved.resourceId}`, owner.token)).status, 204);
    const pending = await resource(owner, { identifier: `https://${newHost()}/pending` });
    const answers = [];
    for (const { identifier } of [taken, reserved, pending, { identifier: `https://${newHost()}/free` }]) {
      const { status, json } = await tokenFor(other, identifier);
      const preview = await call('POST', '/tokens/preview', other.token, {
        agentId: other.agentId,
        resource: identifier,
      });
      const [refused] = await t.sql<{ reason: string }>(
        `select metadata->>'reason' as reason from audit_events
         where agent_id = $1 and action = 'token.refused' and metadata->>'audience' = $2`,
        [other.agentId, identifier],
      );
      answers.push([status, json, preview.json, refused?.reason]);
    }
    assert.equal(answers[0]?.[0], 400);
    for (const answer of answers) assert.deepEqual(answer, answers[3]);
  });
});

describe('with UNREGISTERED_RESOURCES=allow', () => {
  it('400 invalid_target for an identifier that is pending in the own organization; of another one it counts as unregistered', async () => {
    const app = await startApp({ MULTI_TENANT: 'true', UNREGISTERED_RESOURCES: 'allow' }, t);
    const [owner, other] = [await tenant(), await tenant()];
    const ask = ({ clientId, clientSecret }: TestAgent, identifier: string) =>
      app.askToken({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
        resource: identifier,
      });
    const host = newHost();
    const identifier = `https://${host}/orders`;
    assert.equal((await ask(owner, identifier)).status, 200);
    const pending = await resource(owner, { identifier });
    await grant(owner, owner.agentId, pending.resourceId, ['refund']);
    for (const spelling of [identifier, `${identifier}/`, identifier.replace(host, `${host}:443`)]) {
      const { status, json } = await ask(owner, spelling);
      assert.deepEqual([status, json.error], [400, 'invalid_target'], spelling);
    }
    assert.equal((await ask(other, identifier)).status, 200);
    publish(host, pending);
    assert.equal((await verify(owner, pending)).status, 200);
    assert.equal((await ask(owner, identifier)).json.scope, 'refund');
    // A pending resource that was deleted has no effect.
    const deleted = await resource(owner, { identifier: `https://${newHost()}/deleted` });
    await offer(owner, deleted.resourceId, other.organizationId, ['refund']);
    assert.equal((await call('DELETE', `/resources/${deleted.resourceId}`, owner.token)).status, 204);
    assert.equal((await ask(owner, deleted.identifier)).status, 200);
  });
});

describe('the proof', () => {
  it('200 by the text at /.well-known/countersign-verification on the port of the identifier', async () => {
    const owner = await tenant();
    let text = '';
    const { server, host } = await textHost(() => text);
    const pending = await resource(owner, { identifier: `https://${host}/orders` });
    assert.equal(pending.verification.host, host);
    assert.equal(outcome(await verify(owner, pending)), '422 RESOURCE_NOT_VERIFIED');
    text = `# hosts\n${proofOf(pending)}\r\nothers\n`;
    const { json } = await verify(owner, pending);
    assert.equal(json.verification?.method, 'well-known', JSON.stringify(json));
    assert.deepEqual(
      new Set(server.received.map(({ method, url }) => `${method} ${url}`)),
      new Set(['GET /.well-known/countersign-verification']),
    );
    // The name of the TXT record has no port.
    assert.ok(nameServer.queries.includes('_countersign.receiver.test'));
  });

  it("422 for another resource's token, a longer one, an error page, a redirect, and a record of another name", async () => {
    const owner = await tenant();
    const host = newHost();
    const [one, other] = [
      await resource(owner, { identifier: `https://${host}/one` }),
      await resource(owner, { identifier: `https://${host}/other` }),
    ];
    publish(host, other);
    assert.equal(outcome(await verify(owner, one)), '422 RESOURCE_NOT_VERIFIED');
    nameServer.records.set(`_countersign.${host}`, [[`${proofOf(one)}x`], [`x${proofOf(one)}`]]);
    assert.equal(outcome(await verify(owner, one)), '422 RESOURCE_NOT_VERIFIED');
    nameServer.records.set(host, [[proofOf(one)]]);
    nameServer.records.delete(`_countersign.${host}`);
    assert.equal(outcome(await verify(owner, one)), '422 RESOURCE_NOT_VERIFIED');

    let text = '';
    for (const status of [201, 302, 404, 500]) {
      const { host: page } = await textHost(() => text, status);
      const pending = await resource(owner, { identifier: `https://${page}/` });
      text = proofOf(pending);
      const answer = await verify(owner, pending);
      assert.equal(outcome(answer), '422 RESOURCE_NOT_VERIFIED');
      assert.equal(answer.json.details.wellKnown.problem, `the host answered ${status}`);
    }
    const { host: long } = await textHost(() => `${'x'.repeat(70_000)} ${text}`);
    const pending = await resource(owner, { identifier: `https://${long}/` });
    text = proofOf(pending);
    assert.equal(outcome(await verify(owner, pending)), '422 RESOURCE_NOT_VERIFIED');
  });

  it('of an IP address is the text only, and no address outside the public internet is asked', async () => {
    const owner = await tenant();
    for (const host of ['10.0.0.7', '[fd00::7]:8443', '169.254.169.254']) {
      const asked = nameServer.queries.length;
      const pending = await resource(owner, { identifier: `https://${host}/` });
      const answer = await verify(owner, pending);
      assert.equal(outcome(answer), '422 RESOURCE_NOT_VERIFIED');
      assert.equal(answer.json.details.dns, undefined);
      assert.match(answer.json.details.wellKnown.problem, /not on the public internet/);
      assert.equal(nameServer.queries.length, asked);
    }
    // Names of a private network are not looked up.
    const asked = nameServer.queries.length;
    const local = await resource(owner, { identifier: `https://${randomUUID()}.internal/` });
    assert.equal(outcome(await verify(owner, local)), '422 RESOURCE_NOT_VERIFIED');
    assert.equal(nameServer.queries.length, asked);
  });

  it('by {approve: true} is for operators: 403 FORBIDDEN for others, and `approve: false` asks for the proof', async () => {
    const owner = await tenant();
    const pending = await resource(owner, { identifier: `https://${newHost()}/` });
    for (const caller of [owner, await adminOf(owner.organizationId)]) {
      assert.equal(outcome(await verify(caller, pending, { approve: true })), '403 FORBIDDEN');
      assert.equal(outcome(await verify(caller, pending, { approve: false })), '422 RESOURCE_NOT_VERIFIED');
      assert.equal(outcome(await verify(caller, pending, { approve: 'yes' })), '400 VALIDATION_ERROR');
    }
    const approved = await approve(pending);
    assert.equal(approved.json.verification?.method, 'operator', approved.text);
  });

  it('404 for a resource of another organization, 403 for one that is shared, 403 INSUFFICIENT_SCOPE without resources:write', async () => {
    const [owner, other] = [await tenant(), await tenant()];
    const pending = await resource(owner, { identifier: `https://${newHost()}/` });
    assert.equal(outcome(await verify(other, pending)), '404 RESOURCE_NOT_FOUND');
    const reader = await agentIn(owner.organizationId, ['resources:read']);
    assert.equal(outcome(await verify(reader, pending)), '403 INSUFFICIENT_SCOPE');
    await offer(owner, pending.resourceId, other.organizationId, ['refund']);
    const [listed] = (await call('GET', '/shares', other.token)).json.data;
    assert.deepEqual([listed.identifier, listed.verified], [pending.identifier, false]);
    const [announced] = await events(other.organizationId);
    assert.deepEqual([announced?.action, announced?.metadata.verified], ['share.offered', false]);
    await accept(await adminOf(other.organizationId), pending.resourceId);
    assert.equal(outcome(await verify(other, pending)), '403 FORBIDDEN');
    // The token is the owner's.
    const seen = (await call('GET', `/resources/${pending.resourceId}`, other.token)).json;
    assert.deepEqual([seen.verification.status, seen.verification.token], ['pending', null]);
  });

  it('429 RATE_LIMIT_EXCEEDED above the limit of an organization: each one causes requests', async () => {
    const owner = await tenant();
    const pending = await resource(owner, { identifier: `https://10.0.0.8/` });
    const answers = [];
    for (let count = 0; count <= limits.resource.verificationsPerMinute; count += 1)
      answers.push(outcome(await verify(owner, pending)));
    assert.ok(answers.includes('429 RATE_LIMIT_EXCEEDED'), answers.join());
  });
});

describe('the identifier of a deleted resource', () => {
  it('stays reserved if it was verified: 409 at verify for others, and its former owner can prove it again', async () => {
    const [former, other] = [await tenant(), await tenant()];
    const host = newHost();
    const identifier = `https://${host}/orders`;
    const first = await resource(former, { identifier });
    publish(host, first);
    assert.equal((await verify(former, first)).status, 200);
    assert.equal((await call('DELETE', `/resources/${first.resourceId}`, former.token)).status, 204);
    const [theirs, again] = [await resource(other, { identifier }), await resource(former, { identifier })];
    publish(host, theirs, again);
    assert.equal(outcome(await verify(other, theirs)), '409 RESOURCE_ALREADY_EXISTS');
    assert.equal((await verify(former, again)).status, 200);
  });

  it('is not reserved if it was pending', async () => {
    const [former, other] = [await tenant(), await tenant()];
    const host = newHost();
    const identifier = `https://${host}/orders`;
    const first = await resource(former, { identifier });
    await grant(former, former.agentId, first.resourceId, ['refund']);
    await offer(former, first.resourceId, other.organizationId, ['refund']);
    assert.equal((await call('DELETE', `/resources/${first.resourceId}`, former.token)).status, 204);
    assert.equal((await call('GET', '/shares', other.token)).json.total, 0);
    const theirs = await resource(other, { identifier });
    publish(host, theirs);
    assert.equal((await verify(other, theirs)).status, 200);
  });
});

describe('RESOURCE_IDENTIFIERS', () => {
  it('open is the default of a single-tenant instance: verified at once, 409 for every organization', async () => {
    const open = await startApp();
    const client = createResourceClient(open);
    const [one, two] = [await client.tenant(), await client.tenant()];
    const { identifier, verification } = await client.resource(one);
    const { host } = new URL(identifier);
    assert.deepEqual(verification, { status: 'verified', host, method: null, token: null });
    const body = { identifier, name: 'Orders', scopes: [{ name: 'refund' }] };
    assert.equal(
      outcome(await client.call('POST', '/resources', two.token, body)),
      '409 RESOURCE_ALREADY_EXISTS',
    );
  });

  it('verified works on a single-tenant instance; resources of before stay verified, and open lets pending ones be verified without proof', async () => {
    const before = await startApp();
    const old = createResourceClient(before);
    const owner = await old.tenant();
    const existing = await old.resource(owner);
    const verified = await startApp({ RESOURCE_IDENTIFIERS: 'verified' }, before, {
      outbound: createOutbound({ allowPrivate: false, resolver: nameServer.resolver }),
    });
    const client = createResourceClient(verified);
    const found = (await client.call('GET', `/resources/${existing.resourceId}`, owner.token)).json;
    assert.equal(found.verification.status, 'verified');
    const pending = await client.resource(owner);
    assert.equal(pending.verification.status, 'pending');
    const { status, json } = await verified.askToken({
      grant_type: 'client_credentials',
      client_id: owner.clientId,
      client_secret: owner.clientSecret,
      resource: pending.identifier,
    });
    assert.deepEqual([status, json.error], [400, 'invalid_target']);
    const path = `/resources/${pending.resourceId}/verify`;
    const opened = (await old.call('POST', path, owner.token)).json;
    assert.deepEqual([opened.verification.status, opened.verification.method], ['verified', null]);
  });
});

describe('name servers that do not answer', () => {
  it('422 names the problem, and the text of the host is enough', async () => {
    nameServer.silence();
    const owner = await tenant();
    let text = '';
    const { host } = await textHost(() => text);
    const pending = await resource(owner, { identifier: `https://${host}/silent` });
    const { json } = await verify(owner, pending);
    assert.match(
      json.details.dns.problem,
      /^the name servers gave no answer for _countersign\.receiver\.test$/,
    );
    text = proofOf(pending);
    assert.equal((await verify(owner, pending)).json.verification.method, 'well-known');
  });
});
