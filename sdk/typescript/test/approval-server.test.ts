/** An agent asks a person, who decides in the console; the API checks the action. All with this SDK, against a real server. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { listenForApprovals } from '../../../test/support/clients/listening.ts';
import { startReceiver } from '../../../test/support/peers/receivers.ts';
import {
  ApiError,
  ApprovalCanceled,
  ApprovalDenied,
  ApprovalError,
  ApprovalExpired,
  type ApprovalOptions,
  AuthorizationError,
  type Client,
  createClient,
  createVerifier,
  requireDetail,
} from '../src/sdk.ts';
import { refusedWith } from './orders.ts';

const people = await listenForApprovals();
const { t, issuer, api, asker, decide, member, read, organizationId } = people;
const audience: string = api.identifier;
const details = [{ type: 'payment', amount: 120, currency: 'EUR' }];

/** A pause between two polls takes no time here, and all of it at the server. */
const platform = (during: () => Promise<unknown> = async () => {}) => ({
  now: () => t.clock.now(),
  async sleep(milliseconds: number) {
    t.clock.advance(milliseconds);
    await during();
  },
});

async function agentThat(during?: () => Promise<unknown>) {
  const { clientId, agent, agentId } = await asker({ allowedScopes: [] });
  const options = { issuer, clientId, auth: agent.clientSecret };
  return { agentId, client: createClient({ ...options, platform: platform(during) }) };
}

const reader = await t.agent({ allowedScopes: ['tokens:read'] });
const verifier = createVerifier({
  ...{ issuer, audience, organizationId, subjects: 'people', revocation: 'introspect' },
  introspectWith: createClient({ issuer, clientId: reader.clientId, auth: reader.clientSecret }),
  platform: { now: () => t.clock.now() },
});

/** A person of their own for each test: time passes, and sessions end. */
async function newAsked(): Promise<{ asked: ApprovalOptions; person: Awaited<ReturnType<typeof member>> }> {
  const person = await member();
  const asked = {
    resource: audience,
    scopes: ['orders:read', 'orders:write'],
    details,
    loginHint: person.personId,
    message: 'Pay for order 7',
  };
  return { asked, person };
}

describe('an agent that asks a person', () => {
  it('waits, gets the token of exactly this action, and refreshes it while the access lasts', async () => {
    const { asked, person } = await newAsked();
    let approvalId = '';
    let pauses = 0;
    const { client, agentId } = await agentThat(async () => {
      pauses += 1;
      if (pauses === 2)
        assert.equal(
          (await decide(person.browser, approvalId, { decision: 'approve', scopes: ['orders:write'] }))
            .status,
          200,
        );
    });
    const approval = await client.requestApproval({ ...asked, accessExpiresIn: 7_200 });
    ({ approvalId } = approval);
    const token = await approval.wait();
    assert.equal(pauses, 2);

    const verified = await verifier.verify(token, { scopes: 'orders:write' });
    assert.deepEqual(verified.subject, { type: 'person', id: person.personId });
    assert.equal(verified.agentId, agentId);
    assert.deepEqual(verified.authorizationDetails, details);
    assert.equal(requireDetail(verified, 'payment', ({ amount }) => amount === 120).currency, 'EUR');
    assert.throws(
      () => requireDetail(verified, 'payment', ({ amount }) => amount === 121),
      refusedWith(403, 'insufficient_authorization_details', /another action/),
    );
    assert.throws(
      () => requireDetail(verified, 'refund'),
      refusedWith(403, 'insufficient_authorization_details', /no authorization_details/),
    );
    const tokens = await approval.session.tokens();
    assert.deepEqual([tokens?.scope, tokens?.authorizationDetails], ['orders:write', details]);
    const introspection = await createClient({
      issuer,
      clientId: reader.clientId,
      auth: reader.clientSecret,
    }).api.introspectToken({ body: { token } });
    assert.deepEqual(introspection.authorization_details, details);

    t.clock.advance(3_300_000);
    const renewed = await approval.token();
    assert.notEqual(renewed, token);
    assert.deepEqual((await verifier.verify(renewed)).authorizationDetails, details);
    t.clock.advance(3_900_000);
    await assert.rejects(
      approval.token(),
      (error) => error instanceof AuthorizationError && error.code === 'authorization_required',
    );
  });

  it('a ping of the server ends the pause', async () => {
    const { asked, person } = await newAsked();
    let handlePing: Client['handlePing'] | undefined;
    const statuses: unknown[] = [];
    const receiver = await startReceiver(async ({ body, headers }, response) => {
      const status = (await handlePing?.(body, headers)) ?? 503;
      statuses.push(status);
      response.writeHead(status).end();
    });
    const notificationUri = `https://receiver.test:${receiver.port}/approved`;
    const { agent, clientId } = await asker({ allowedScopes: [], notificationUri });
    const paused = Promise.withResolvers<void>();
    const client = createClient({
      ...{ issuer, clientId, auth: agent.clientSecret },
      platform: {
        now: () => t.clock.now(),
        sleep: (_, signal) =>
          new Promise((_resolve, reject) => {
            signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
            paused.resolve();
          }),
      },
    });
    ({ handlePing } = client);
    const approval = await client.requestApproval({ ...asked, notificationToken: crypto.randomUUID() });
    const token = approval.wait();
    await paused.promise;
    t.app.loops.start();
    after(() => t.app.loops.stop());
    assert.equal((await decide(person.browser, approval.approvalId)).status, 200);
    await verifier.verify(await token);
    assert.deepEqual(statuses, [204]);
  });

  it('ends the access when the work is done', async () => {
    const { asked, person } = await newAsked();
    const { client } = await agentThat();
    const approval = await client.requestApproval(asked);
    assert.equal((await decide(person.browser, approval.approvalId)).status, 200);
    const token = await approval.wait();
    await approval.session.end();
    await assert.rejects(verifier.verify(token), refusedWith(401, 'invalid_token', /revoked/));
  });

  it('ApprovalDenied', async () => {
    const { asked, person } = await newAsked();
    const { client } = await agentThat();
    const approval = await client.requestApproval(asked);
    await decide(person.browser, approval.approvalId, { decision: 'deny' });
    await assert.rejects(approval.wait(), ApprovalDenied);
  });

  it('ApprovalExpired, after polls at the pace of the server', async () => {
    const { asked } = await newAsked();
    const { client, agentId } = await agentThat();
    const approval = await client.requestApproval({ ...asked, expiresIn: 30 });
    let pendings = 0;
    await assert.rejects(approval.wait({ onPending: () => (pendings += 1) }), ApprovalExpired);
    assert.equal(pendings, 6);
    assert.equal((await read(approval.approvalId)).agentId, agentId);
  });

  it('ApprovalCanceled: by an agent without any scope', async () => {
    const { asked } = await newAsked();
    let cancel: (() => Promise<void>) | undefined;
    const { client } = await agentThat(async () => cancel?.());
    const approval = await client.requestApproval(asked);
    ({ cancel } = approval);
    await assert.rejects(approval.wait(), ApprovalCanceled);
    assert.equal((await read(approval.approvalId)).status, 'canceled');
    await assert.rejects(
      approval.cancel(),
      (error) => error instanceof ApiError && error.code === 'APPROVAL_NOT_PENDING',
    );
  });

  it('ApprovalError invalid_grant: another program has taken the tokens', async () => {
    const { asked, person } = await newAsked();
    const { client } = await agentThat();
    const approval = await client.requestApproval(asked);
    await decide(person.browser, approval.approvalId);
    await approval.wait();
    const again = await client.requestApproval(asked);
    await decide(person.browser, again.approvalId);
    await t.sql('update approvals set redeemed_at = now() where approval_id = $1', [again.approvalId]);
    await assert.rejects(
      again.wait(),
      (error) => error instanceof ApprovalError && error.code === 'invalid_grant',
    );
  });

  it('ApiError with the code of the server: unknown people, scopes, details and messages', async () => {
    const { asked } = await newAsked();
    const { client } = await agentThat();
    const cases: [Partial<ApprovalOptions>, string][] = [
      [{ loginHint: 'nobody@example.com' }, 'unknown_user_id'],
      [{ scopes: 'orders:delete' }, 'invalid_scope'],
      [{ resource: 'https://unknown.example.com' }, 'invalid_target'],
      [{ details: [{ type: 'payment', amount: '120' }] }, 'invalid_authorization_details'],
      [{ message: 'a\u202eb' }, 'invalid_binding_message'],
      [{ expiresIn: 1 }, 'invalid_request'],
    ];
    for (const [change, code] of cases)
      await assert.rejects(
        client.requestApproval({ ...asked, ...change }),
        (error) => error instanceof ApiError && error.status === 400 && error.code === code,
        code,
      );
  });
});
