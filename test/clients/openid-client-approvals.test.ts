/** openid-client as the library of an agent that asks people (CIBA, poll mode). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import { listenForApprovals } from '../support/clients/listening.ts';
import { cibaGrant, paymentType } from '../support/scenarios/approvals.ts';

const scenario = await listenForApprovals();
const { t, issuer, api, asker, member, decide, operate } = scenario;

const payment = { type: paymentType.type, amount: 120, currency: 'EUR' };
/** The interval of the answer is 5 seconds; the library waits it before each poll. */
const fast = 0.01;

interface Poll {
  readonly error: string | undefined;
}

/** A configuration with the answers of the polls so far. `afterPoll` sees each answer before the library does. */
async function discover(
  clientId: string,
  auth: client.ClientAuth,
  algorithm: 'oauth2' | 'oidc' = 'oauth2',
  afterPoll: (polls: readonly Poll[]) => unknown = () => {},
) {
  const polls: Poll[] = [];
  const config = await client.discovery(new URL(issuer), clientId, undefined, auth, {
    algorithm,
    // Loopback only; a real instance is reached over TLS.
    execute: [client.allowInsecureRequests],
  });
  config[client.customFetch] = async (url, options) => {
    const response = await fetch(url, options as RequestInit);
    if (new URLSearchParams(String(options.body)).get('grant_type') === cibaGrant) {
      const { error } = (await response.clone().json()) as Poll;
      polls.push({ error });
      await afterPoll(polls);
    }
    return response;
  };
  return { config, polls };
}

const newAgent = async () => {
  const { clientId, agent } = await asker();
  return { clientId, auth: client.ClientSecretPost(agent.clientSecret) };
};

const ask = (config: client.Configuration, login_hint: string, more: Record<string, string> = {}) =>
  client.initiateBackchannelAuthentication(config, {
    resource: api.identifier,
    scope: 'orders:write',
    login_hint,
    binding_message: 'Pay invoice 17',
    authorization_details: JSON.stringify([payment]),
    ...more,
  });

const approvalIdOf = (answer: client.BackchannelAuthenticationResponse) => String(answer.approval_id);

const isRefusedWith = (code: string) => (error: unknown) =>
  error instanceof client.ResponseBodyError && error.error === code && error.status === 400;

describe('openid-client', () => {
  for (const algorithm of ['oauth2', 'oidc'] as const)
    it(`by ${algorithm} metadata: asks, polls, gets the approved action and its refresh token`, async () => {
      const { clientId, auth } = await newAgent();
      const { browser, personId } = await member();
      let asked: client.BackchannelAuthenticationResponse | undefined;
      const { config, polls } = await discover(clientId, auth, algorithm, async ({ length }) => {
        if (length === 1) {
          const { status, text } = await decide(browser, approvalIdOf(asked ?? assert.fail()));
          assert.equal(status, 200, text);
        }
      });
      const metadata = config.serverMetadata();
      assert.equal(metadata.backchannel_authentication_endpoint, `${issuer}/api/v1/bc-authorize`);
      assert.deepEqual(metadata.backchannel_token_delivery_modes_supported, ['poll', 'ping']);
      assert.ok(metadata.grant_types_supported?.includes(cibaGrant));
      asked = await ask(config, personId);
      assert.deepEqual([asked.expires_in, asked.interval], [600, 5]);
      const tokens = await client.pollBackchannelAuthenticationGrant(config, { ...asked, interval: fast });
      assert.deepEqual(polls, [{ error: 'authorization_pending' }, { error: undefined }]);
      assert.deepEqual(tokens.authorization_details, [payment]);
      const { sub, sub_profile, client_id, authorization_details } = decodeJwt(tokens.access_token);
      assert.deepEqual(
        [sub, sub_profile, client_id, authorization_details],
        [personId, 'person', clientId, [payment]],
      );
      const next = await client.refreshTokenGrant(config, String(tokens.refresh_token));
      assert.deepEqual(decodeJwt(next.access_token).authorization_details, [payment]);
      await assert.rejects(
        client.pollBackchannelAuthenticationGrant(config, { ...asked, interval: fast }),
        isRefusedWith('invalid_grant'),
      );
    });

  it('access_denied when the person denies, and when the request is canceled', async () => {
    const { clientId, auth } = await newAgent();
    const { browser, personId } = await member();
    const { config } = await discover(clientId, auth);
    const denied = await ask(config, personId);
    assert.equal((await decide(browser, approvalIdOf(denied), { decision: 'deny' })).status, 200);
    const canceled = await ask(config, personId);
    await operate('DELETE', `/approvals/${approvalIdOf(canceled)}`);
    for (const asked of [denied, canceled])
      await assert.rejects(
        client.pollBackchannelAuthenticationGrant(config, { ...asked, interval: fast }),
        isRefusedWith('access_denied'),
      );
  });

  it('expired_token without a decision', async () => {
    const { clientId, auth } = await newAgent();
    const { personId } = await member();
    const { config, polls } = await discover(clientId, auth, 'oauth2', () => t.clock.advance(31_000));
    const asked = await ask(config, personId, { requested_expiry: '30' });
    assert.equal(asked.expires_in, 30);
    await assert.rejects(
      client.pollBackchannelAuthenticationGrant(config, { ...asked, interval: fast }),
      isRefusedWith('expired_token'),
    );
    assert.deepEqual(polls, [{ error: 'authorization_pending' }, { error: 'expired_token' }]);
  });

  it('slow_down: the library waits longer, and gets the tokens of the decision then', async () => {
    const { clientId, auth } = await newAgent();
    const { browser, personId } = await member();
    let asked: client.BackchannelAuthenticationResponse | undefined;
    const { config, polls } = await discover(clientId, auth, 'oauth2', async ({ length }) => {
      const approvalId = approvalIdOf(asked ?? assert.fail());
      // However slow the machine is, the second poll comes too soon.
      if (length === 1)
        await t.sql(`update approvals set polled_at = polled_at + interval '1 hour' where approval_id = $1`, [
          approvalId,
        ]);
      if (length === 2) assert.equal((await decide(browser, approvalId)).status, 200);
    });
    asked = await ask(config, personId);
    const from = performance.now();
    const tokens = await client.pollBackchannelAuthenticationGrant(config, { ...asked, interval: fast });
    assert.deepEqual(polls, [
      { error: 'authorization_pending' },
      { error: 'slow_down' },
      { error: undefined },
    ]);
    assert.ok(performance.now() - from >= 5_000);
    assert.equal(tokens.scope, 'orders:write');
  });

  it('the errors of a request are readable: unknown person, details with the place that is wrong', async () => {
    const { clientId, auth } = await newAgent();
    const { personId } = await member();
    const { config } = await discover(clientId, auth);
    await assert.rejects(ask(config, 'unknown@example.com'), isRefusedWith('unknown_user_id'));
    await assert.rejects(
      ask(config, personId, { authorization_details: JSON.stringify([{ ...payment, amount: -1 }]) }),
      (error: unknown) =>
        isRefusedWith('invalid_authorization_details')(error) &&
        /\/0\/amount/.test((error as client.ResponseBodyError).error_description ?? ''),
    );
    const wrong = await discover(clientId, client.ClientSecretPost('wrong'));
    await assert.rejects(
      ask(wrong.config, personId),
      (error: unknown) =>
        (error instanceof client.ResponseBodyError && error.error === 'invalid_client') ||
        error instanceof client.WWWAuthenticateChallengeError,
    );
  });
});
