/** The scopes and audiences that a delegation lends, and the delegations that are refused because no agent could redeem them. */
import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { calculateJwkThumbprint, decodeJwt, exportJWK, SignJWT } from 'jose';
import { type Answer, newAgent, startApp } from '../../../test/support/harness.ts';
import { until } from '../../../test/support/programs.ts';
import {
  type Client,
  createDelegationClient,
  jwtType,
  tokenExchange,
} from '../../../test/support/scenarios/delegations.ts';
import { organizationScopes } from '../../contract/scopes.ts';
import { lockExclusive } from '../../kernel/data/locks.ts';

const t = await startApp({ RATE_LIMIT_PER_MINUTE: '100000' });
const { delegate, exchange, createDelegation, redeem, listAgents, verify } = createDelegationClient(t);
const operator = await t.token();
const issuer = 'http://countersign.test';
const cloud = 'https://sts.example.com/';
const alice = await t.agent();
const aliceToken = await t.token(undefined, alice);
/** An agent without scopes of its own. */
const worker = () => t.agent({ allowedScopes: [] });
const bob = await worker();

const patch = (agentId: string, payload: object) =>
  t.call('PATCH', `/api/v1/agents/${agentId}`, { token: operator, payload });

function assertFailed({ status, json, text }: Answer, expected: number, code: string) {
  assert.equal(status, expected, text);
  assert.equal(json.code, code, text);
}

function assertRefused({ status, json, text }: Answer, expected: number, error: string) {
  assert.equal(status, expected, text);
  assert.equal(json.error, error, text);
}

/** One successful call for each scope. */
const uses: Record<string, [number, (token: string) => Promise<Answer>]> = {
  'agents:read': [200, (token) => t.call('GET', '/api/v1/agents', { token })],
  'agents:write': [201, (token) => t.call('POST', '/api/v1/agents', { token, payload: newAgent() })],
  'tokens:read': [200, (token) => t.form('/api/v1/token/introspect', { token }, token)],
  'audit:read': [200, (token) => t.call('GET', '/api/v1/audit', { token })],
  'webhooks:read': [200, (token) => t.call('GET', '/api/v1/webhooks', { token })],
  'webhooks:write': [
    201,
    (token) =>
      t.call('POST', '/api/v1/webhooks', {
        token,
        payload: { name: 'Task', url: 'https://receiver.example/hook', events: ['agent.created'] },
      }),
  ],
};

describe('an agent without scopes of its own', () => {
  it('200 does by a delegation exactly what it was lent, and nothing with its own token', async () => {
    assert.deepEqual(Object.keys(uses), [...organizationScopes]);
    const own = await t.token(undefined, bob);
    for (const [scope, [status, use]] of Object.entries(uses)) {
      const token = await redeem(bob, await createDelegation(aliceToken, bob, [scope]));
      assert.equal(decodeJwt(token).scope, scope);
      for (const [other, [, useOther]] of Object.entries(uses))
        if (other !== scope) assert.equal((await useOther(token)).json.code, 'INSUFFICIENT_SCOPE', other);
      const answer = await use(token);
      assert.equal(answer.status, status, answer.text);
      assert.equal((await use(own)).json.code, 'INSUFFICIENT_SCOPE');
    }
  });

  it('200 passes on what it was lent, and the next one without scopes can use it', async () => {
    const carol = await worker();
    const token = await redeem(
      bob,
      await createDelegation(aliceToken, bob, ['agents:read'], { allowRedelegation: true }),
    );
    assert.equal(
      await listAgents(await redeem(carol, await createDelegation(token, carol, ['agents:read']))),
      '200',
    );
  });

  it('403 INSUFFICIENT_SCOPE at once when the subject loses the scope; the scope is back when the subject is', async () => {
    const dave = await t.agent();
    const lent = await createDelegation(await t.token(undefined, dave), bob, ['agents:read', 'audit:read']);
    const token = await redeem(bob, lent);
    assert.equal(await listAgents(token), '200');
    await patch(dave.agentId, { allowedScopes: ['audit:read'] });
    assert.equal(await listAgents(token), '403 INSUFFICIENT_SCOPE');
    assertRefused(await exchange(bob, lent.delegationToken, { scope: 'agents:read' }), 400, 'invalid_scope');
    assert.deepEqual((await verify(operator, lent.delegationToken)).json.scopes, ['audit:read']);
    assert.deepEqual((await verify(operator, token)).json.scopes, ['audit:read']);
    await patch(dave.agentId, { allowedScopes: [] });
    assertRefused(await exchange(bob, lent.delegationToken), 400, 'invalid_scope');
    const { valid, scopes } = (await verify(operator, lent.delegationToken)).json;
    assert.deepEqual({ valid, scopes }, { valid: true, scopes: [] });
  });

  it('400 invalid_grant, 404 for a caller that minted a secret for the delegatee: it lacks the delegation token', async () => {
    const target = await worker();
    const lent = await createDelegation(aliceToken, target, ['audit:read']);
    const minter = await t.agent({ allowedScopes: ['agents:read', 'agents:write'] });
    const minted = await t.call('POST', `/api/v1/agents/${target.agentId}/credentials`, {
      token: await t.token(undefined, minter),
    });
    assert.equal(minted.status, 201, minted.text);
    const intruder: Client = { agentId: target.agentId, ...minted.json };
    const asTarget = await t.token(undefined, intruder);
    const seen = [
      await t.call('GET', '/api/v1/delegations', { token: asTarget }),
      await t.call('GET', `/api/v1/delegations/${lent.chainId}`, { token: asTarget }),
    ];
    for (const { status, text } of seen) {
      assert.equal(status, 200);
      assert.ok(!text.includes('eyJ'), 'no route shows a delegation token again');
    }
    for (const guess of [lent.chainId, asTarget])
      assertRefused(await exchange(intruder, guess), 400, 'invalid_grant');
    assert.equal((await t.call('GET', '/api/v1/audit', { token: asTarget })).json.code, 'INSUFFICIENT_SCOPE');
    // The chain goes on for the delegatee, which has both.
    assert.equal((await exchange(target, lent.delegationToken)).status, 200);
  });
});

describe('audiences', () => {
  it('400 invalid_target for another audience than our own API unless the delegator named it', async () => {
    for (const resource of [undefined, null, [issuer], [`${issuer}/`]]) {
      const lent = await createDelegation(
        aliceToken,
        bob,
        ['agents:read'],
        resource === undefined ? {} : { resource },
      );
      assertRefused(await exchange(bob, lent.delegationToken, { resource: cloud }), 400, 'invalid_target');
      assert.equal(decodeJwt(await redeem(bob, lent)).aud, issuer);
      assert.equal(decodeJwt(await redeem(bob, lent, { resource: issuer })).aud, issuer);
    }
  });

  it('200 for a named audience: act is always there', async () => {
    const lent = await createDelegation(aliceToken, bob, ['agents:read'], { resource: [cloud] });
    for (const more of [{}, { resource: cloud }] as Record<string, string>[]) {
      const { aud, sub, client_id, act } = decodeJwt(await redeem(bob, lent, more));
      assert.deepEqual(
        { aud, sub, client_id, act },
        { aud: cloud, sub: alice.agentId, client_id: bob.agentId, act: { sub: bob.agentId } },
      );
    }
  });

  it('403 DELEGATION_SCOPE_EXCEEDED when a delegatee names an audience that its own link does not', async () => {
    const carol = await worker();
    for (const resource of [null, [issuer]]) {
      const more = { allowRedelegation: true, resource };
      const token = await redeem(bob, await createDelegation(aliceToken, bob, ['agents:read'], more));
      const pass = (named: unknown) =>
        delegate(token, { delegateeId: carol.agentId, scopes: ['agents:read'], resource: named });
      for (const named of [[cloud], [issuer, cloud]]) {
        const answer = await pass(named);
        assertFailed(answer, 403, 'DELEGATION_SCOPE_EXCEEDED');
        assert.deepEqual(answer.json.details, { requested: named, allowed: [issuer], exceeded: [cloud] });
      }
      for (const named of [null, [issuer]]) assert.equal((await pass(named)).status, 201);
    }
  });

  it('400 invalid_target for a link of an earlier version that names an audience its parent does not', async () => {
    const carol = await worker();
    const above = await createDelegation(aliceToken, bob, ['agents:read'], { allowRedelegation: true });
    const lent = await createDelegation(await redeem(bob, above), carol, ['agents:read']);
    await t.sql('update delegations set resource = $2 where chain_id = $1', [lent.chainId, [cloud]]);
    for (const more of [{}, { resource: cloud }, { resource: issuer }] as Record<string, string>[])
      assertRefused(await exchange(carol, lent.delegationToken, more), 400, 'invalid_target');
  });
});

describe('posing as the subject elsewhere', () => {
  it('403 FORBIDDEN at POST /oidc/id-token for a delegated caller, with the reason', async () => {
    const dave = await t.agent();
    const token = await redeem(dave, await createDelegation(aliceToken, dave, [...organizationScopes]));
    const answer = await t.form('/api/v1/oidc/id-token', { audience: 'sts.amazonaws.com' }, token);
    assertFailed(answer, 403, 'FORBIDDEN');
    assert.match(answer.json.message, /delegated token/);
    const own = await t.form(
      '/api/v1/oidc/id-token',
      { audience: 'sts.amazonaws.com' },
      await t.token(undefined, dave),
    );
    assert.equal(own.status, 200, own.text);
  });

  it('400 and 401 for a delegated token that is exchanged again, as subject_token or client_assertion', async () => {
    const lent = await createDelegation(aliceToken, bob, ['agents:read'], { resource: [issuer, cloud] });
    for (const more of [{}, { resource: cloud }] as Record<string, string>[]) {
      const token = await redeem(bob, lent, more);
      assertRefused(await exchange(bob, token), 400, 'invalid_grant');
      const external = {
        grant_type: tokenExchange,
        subject_token: token,
        subject_token_type: jwtType,
      };
      for (const named of [{}, { client_id: alice.agentId }, { client_id: bob.agentId }]) {
        const exchanged = await t.form('/api/v1/oidc/token', { ...external, ...named });
        assertRefused(exchanged, 400, 'invalid_grant');
        const asserted = {
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          client_assertion: token,
          ...named,
        };
        const own = await t.askToken({ grant_type: 'client_credentials', ...asserted });
        assertRefused(own, 401, 'invalid_client');
        const redeemed = await t.askToken({
          grant_type: tokenExchange,
          subject_token: lent.delegationToken,
          subject_token_type: jwtType,
          ...asserted,
        });
        assertRefused(redeemed, 401, 'invalid_client');
      }
    }
  });
});

describe('admin:orgs', () => {
  it('403 FORBIDDEN, 404: a delegation and a token of an earlier version that hold it have lost it', async () => {
    const second = await t.agent({ allowedScopes: ['admin:orgs', ...organizationScopes] });
    const lent = await createDelegation(operator, second, ['agents:read', 'agents:write']);
    await t.sql(`update delegations set scopes = scopes || '{admin:orgs}' where chain_id = $1`, [
      lent.chainId,
    ]);
    const expected = ['agents:read', 'agents:write'];
    assert.deepEqual((await verify(operator, lent.delegationToken)).json.scopes, expected);
    const shown = await t.call('GET', `/api/v1/delegations/${lent.chainId}`, { token: operator });
    assert.deepEqual(shown.json.scopes, expected);
    const token = await redeem(second, lent);
    assert.equal(decodeJwt(token).scope, expected.join(' '));
    assertRefused(
      await exchange(second, lent.delegationToken, { scope: 'admin:orgs' }),
      400,
      'invalid_scope',
    );

    const earlier = await new SignJWT({
      ...decodeJwt(token),
      jti: t.app.ids.uuidV7(t.clock.now()),
      scope: 'agents:read agents:write admin:orgs',
    })
      .setProtectedHeader({
        alg: 'RS256',
        typ: 'at+jwt',
        kid: await calculateJwkThumbprint(
          await exportJWK(createPublicKey(process.env.TEST_PUBLIC_KEY ?? '')),
        ),
      })
      .sign(createPrivateKey(process.env.TEST_PRIVATE_KEY ?? ''));
    assert.equal(await listAgents(earlier), '200');
    const { scope } = (await t.form('/api/v1/token/introspect', { token: earlier }, operator)).json;
    assert.equal(scope, expected.join(' '));
    assertFailed(await t.call('GET', '/api/v1/organizations', { token: earlier }), 403, 'FORBIDDEN');
    assertFailed(await t.call('GET', '/api/v1/federation/partners', { token: earlier }), 403, 'FORBIDDEN');
    const { organizationId } = (
      await t.call('POST', '/api/v1/organizations', {
        token: operator,
        payload: { name: 'Elsewhere', slug: 'elsewhere-lending' },
      })
    ).json;
    const foreign = await t.agent({ organization_id: organizationId });
    assertFailed(
      await t.call('GET', `/api/v1/agents/${foreign.agentId}`, { token: earlier }),
      404,
      'AGENT_NOT_FOUND',
    );
    assertFailed(
      await delegate(earlier, { delegateeId: bob.agentId, scopes: ['admin:orgs'] }),
      403,
      'FORBIDDEN',
    );
  });
});

describe('a delegation that could never be redeemed', () => {
  it('403 DELEGATION_SCOPE_EXCEEDED for scopes that the subject has lost, also when it is passed on', async () => {
    const dave = await t.agent();
    const daveToken = await t.token(undefined, dave);
    const more = { allowRedelegation: true };
    const token = await redeem(
      bob,
      await createDelegation(daveToken, bob, ['agents:read', 'audit:read'], more),
    );
    await patch(dave.agentId, { allowedScopes: ['audit:read'] });
    for (const [by, delegateeId] of [
      [daveToken, bob.agentId],
      [token, alice.agentId],
    ] as const) {
      const answer = await delegate(by, { delegateeId, scopes: ['agents:read', 'audit:read'] });
      assertFailed(answer, 403, 'DELEGATION_SCOPE_EXCEEDED');
      assert.deepEqual(answer.json.details, {
        requested: ['agents:read', 'audit:read'],
        allowed: ['audit:read'],
        exceeded: ['agents:read'],
      });
      assert.equal((await delegate(by, { delegateeId, scopes: ['audit:read'] })).status, 201);
    }
  });

  it('403 DELEGATION_EXPIRED when the parent leaves no second for a token by the time it is written', async () => {
    const carol = await worker();
    const more = { allowRedelegation: true, expiresIn: 60 };
    const above = await createDelegation(aliceToken, bob, ['agents:read'], more);
    const token = await redeem(bob, above);
    const [{ end } = { end: 0 }] = await t.sql<{ end: number }>(
      `update delegations set expires_at = date_trunc('second', expires_at) + interval '999 milliseconds'
       where chain_id = $1 returning (extract(epoch from expires_at) * 1000)::float8 as "end"`,
      [above.chainId],
    );
    // The request passes the guard, then waits for a locked agent. When it goes on, the parent is in its last second.
    let answering: Promise<Answer> | undefined;
    await t.app.db.transaction(async (tx) => {
      await lockExclusive(tx, 'agent', [carol.agentId]);
      answering = delegate(token, { delegateeId: carol.agentId, scopes: ['agents:read'] });
      await until('the request waits for the lock', async () => {
        const waiting = await t.sql(
          "select 1 from pg_stat_activity where datname = current_database() and wait_event = 'advisory'",
        );
        return waiting.length > 0 ? true : undefined;
      });
      t.clock.advance(end - 998 - t.clock.now());
    });
    assertFailed((await answering) as Answer, 403, 'DELEGATION_EXPIRED');
  });
});
