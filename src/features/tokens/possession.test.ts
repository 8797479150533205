/** Proofs of possession at the token endpoints and at our API. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { type Answer, startApp, startOfMinute } from '../../../test/support/harness.ts';
import {
  createDelegationClient,
  jwtType,
  tokenExchange,
} from '../../../test/support/scenarios/delegations.ts';
import {
  clientForm,
  createProver,
  hashOfToken,
  issuer,
  type ProofParts,
  proofMutations,
  tokenAddress,
} from '../../../test/support/scenarios/dpop.ts';
import { createTrustClient } from '../../../test/support/scenarios/trust.ts';

const settings = { RATE_LIMIT_PER_MINUTE: '10000', WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' };
const t = await startApp(settings);
const other = await startApp(settings, t);
const agent = await t.agent({ allowedScopes: ['agents:read', 'tokens:read'] });
const prover = await createProver(t);
const operator = await t.token();
const path = '/api/v1/agents';

const askBound = async (parts?: ProofParts, client = agent) =>
  t.askToken(clientForm(client), { dpop: await prover.proof(parts) });

const boundToken = async (client = agent): Promise<string> => {
  const { json, text } = await askBound(undefined, client);
  assert.equal(json.token_type, 'DPoP', text);
  return json.access_token;
};
const token = await boundToken();

const use = (headers: Record<string, string>, app = t) => app.call('GET', `${path}?limit=1`, { headers });
const useBound = async (parts?: ProofParts) => use(await prover.headers(token, 'GET', path, parts));

interface Recorded {
  readonly agent_id: string;
  readonly organization_id: string;
  readonly outcome: string;
  readonly reason: string;
}
const recorded = async (action: string) =>
  t.sql<Recorded>(
    `select agent_id, organization_id, outcome, metadata ->> 'reason' as reason from audit_events
     where action = $1 order by event_id`,
    [action],
  );

/** Exactly one refusal is recorded, for this agent. */
const recordsOne = async (action: string, act: () => Promise<Answer>): Promise<[Answer, Recorded]> => {
  const before = await recorded(action);
  const answer = await act();
  const added = (await recorded(action)).slice(before.length);
  assert.equal(added.length, 1, JSON.stringify(added));
  return [answer, added[0] as Recorded];
};

const refusedAtToken = async (act: () => Promise<Answer>, error = 'invalid_dpop_proof') => {
  const [{ status, json, headers }, { agent_id, organization_id, outcome, reason }] = await recordsOne(
    'token.refused',
    act,
  );
  assert.deepEqual([status, json.error], [400, error], JSON.stringify(json));
  assert.deepEqual([agent_id, organization_id], [agent.agentId, t.operator.organizationId]);
  assert.equal(outcome, 'failure');
  assert.equal(headers['cache-control'], 'no-store');
  return { description: json.error_description, reason, headers };
};

/** Refusals of requests that prove no identity are recorded up to 60 times a minute. */
let refusals = 0;

const refusedAtApi = async (act: () => Promise<Answer>, error = 'invalid_dpop_proof') => {
  refusals += 1;
  if (refusals % 40 === 0) startOfMinute(t.clock);
  const [{ status, json, headers }, { agent_id, reason }] = await recordsOne('authentication.refused', act);
  assert.deepEqual([status, json.code], [401, 'UNAUTHORIZED'], JSON.stringify(json));
  assert.equal(agent_id, agent.agentId);
  const challenge = String(headers['www-authenticate']);
  assert.match(
    challenge,
    new RegExp(`^DPoP error="${error}", error_description="[^"]+", scope="agents:read"`),
  );
  assert.match(challenge, /, algs="RS256 .*ES256 /);
  return { reason, headers };
};

describe('POST /token with a proof', () => {
  it('200 with a token that is bound to the key, a nonce, and the key in the audit log', async () => {
    const { status, json, headers, text } = await askBound();
    assert.equal(status, 200, text);
    assert.equal(json.token_type, 'DPoP');
    const { cnf, jti } = decodeJwt(json.access_token);
    assert.deepEqual(cnf, { jkt: prover.jkt });
    assert.match(String(headers['dpop-nonce']), /^[\w-]{28}$/);
    const [event] = await t.sql(
      `select metadata ->> 'keyThumbprint' as jkt from audit_events where metadata ->> 'tokenId' = $1`,
      [jti],
    );
    assert.deepEqual(event, { jkt: prover.jkt });
  });
  it('200 Bearer without a proof, without cnf and nonce', async () => {
    const { json, headers } = await t.askToken(clientForm(agent));
    assert.equal(json.token_type, 'Bearer');
    assert.ok(!('cnf' in decodeJwt(json.access_token)));
    assert.equal(headers['dpop-nonce'], undefined);
  });
  it('200 with the nonce of an earlier answer', async () => {
    const { headers } = await askBound();
    assert.equal((await askBound({ claims: { nonce: headers['dpop-nonce'] } })).status, 200);
  });
  for (const { what, make, error } of proofMutations(t))
    it(`400 ${error ?? 'invalid_dpop_proof'} and a record for ${what}`, async () => {
      const dpop = await make(prover, { htm: 'POST', htu: tokenAddress });
      const refused = await refusedAtToken(() => t.askToken(clientForm(agent), { dpop }), error);
      assert.equal(refused.reason, refused.description);
      assert.ok(refused.headers['dpop-nonce']);
    });
  it('400 for a proof that is sent twice, also at another node, at once and with another iat', async () => {
    const jti = crypto.randomUUID();
    const dpop = await prover.proof({ claims: { jti } });
    const again = await prover.proof({ claims: { jti, iat: Math.floor(t.clock.now() / 1_000) - 9 } });
    assert.equal((await t.askToken(clientForm(agent), { dpop })).status, 200);
    for (const app of [t, other])
      for (const proof of [dpop, again]) {
        const { reason } = await refusedAtToken(() => app.askToken(clientForm(agent), { dpop: proof }));
        assert.equal(reason, 'the proof was used before');
      }
    const fresh = await prover.proof();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        [t, other][index % 2]?.askToken(clientForm(agent), { dpop: fresh }),
      ),
    );
    assert.equal(answers.filter((answer) => answer?.status === 200).length, 1);
    assert.equal(answers.filter((answer) => answer?.json.error === 'invalid_dpop_proof').length, 19);
  });
  it('200 for the same jti by another key', async () => {
    const jti = crypto.randomUUID();
    const second = await createProver(t);
    for (const by of [prover, second]) {
      const { status, json } = await t.askToken(clientForm(agent), {
        dpop: await by.proof({ claims: { jti } }),
      });
      assert.equal(status, 200);
      assert.deepEqual(decodeJwt(json.access_token).cnf, { jkt: by.jkt });
    }
  });
  it('401 invalid_client for a wrong secret: its proof is not read', async () => {
    const wrong = { ...clientForm(agent), client_secret: 'cs_wrong' };
    assert.equal((await t.askToken(wrong, { dpop: 'garbage' })).json.error, 'invalid_client');
  });
});

describe('every grant', () => {
  const { createDelegation, exchange } = createDelegationClient(t);
  it('200 a delegated token is bound to the key of its delegatee', async () => {
    const giver = await t.agent();
    const lent = await createDelegation(await t.token(undefined, giver), agent, ['agents:read'], {
      allowRedelegation: true,
    });
    const form = {
      grant_type: tokenExchange,
      subject_token: lent.delegationToken,
      subject_token_type: jwtType,
    };
    const dpop = await prover.proof();
    const { json, text } = await t.askToken({ ...clientForm(agent), ...form }, { dpop });
    assert.equal(json.token_type, 'DPoP', text);
    assert.deepEqual(decodeJwt(json.access_token).cnf, { jkt: prover.jkt });
    await refusedAtToken(() => t.askToken({ ...clientForm(agent), ...form }, { dpop }));
    assert.equal((await exchange(agent, lent.delegationToken)).json.token_type, 'Bearer');
    // Only with the key the token proves that its delegatee may pass the delegation on.
    const third = await t.agent();
    const payload = {
      delegateeId: third.agentId,
      scopes: ['agents:read'],
      expiresIn: 600,
      parentToken: json.access_token,
    };
    const own = await t.token(undefined, agent);
    const url = '/api/v1/delegations';
    assert.equal((await t.call('POST', url, { token: own, payload })).json.code, 'DELEGATION_NOT_FOUND');
    const bound = await prover.headers(token, 'POST', url);
    assert.equal((await t.call('POST', url, { headers: bound, payload })).status, 201);
  });
  it('200 the token of a workload, in each of its three ways; 400 and a record for a wrong or used proof', async () => {
    const { createPolicy, lastRefusal } = await createTrustClient(t);
    const policy = await createPolicy({ singleUse: false });
    const exchanged = `${issuer}/api/v1/oidc/token`;
    const ways: [string, Record<string, string>][] = [
      [
        '/api/v1/token',
        {
          grant_type: 'client_credentials',
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          client_assertion: await policy.sign(),
        },
      ],
      [
        '/api/v1/token',
        {
          grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
          assertion: await policy.sign(),
        },
      ],
      [
        '/api/v1/oidc/token',
        { grant_type: tokenExchange, subject_token_type: jwtType, subject_token: await policy.sign() },
      ],
    ];
    for (const [url, form] of ways) {
      const send = (dpop: string) =>
        t.call('POST', url, {
          payload: new URLSearchParams(form).toString(),
          headers: { 'content-type': 'application/x-www-form-urlencoded', dpop },
        });
      const dpop = await prover.proof({ claims: { htu: issuer + url } });
      const { status, json, text } = await send(dpop);
      assert.equal(status, 200, text);
      assert.equal(json.token_type, 'DPoP');
      assert.deepEqual(decodeJwt(json.access_token).cnf, { jkt: prover.jkt });
      assert.equal((await use(await prover.headers(json.access_token, 'GET', path))).status, 200);
      const elsewhere = url === '/api/v1/token' ? exchanged : `${issuer}/api/v1/token`;
      for (const wrong of [dpop, await prover.proof({ claims: { htu: elsewhere } })]) {
        const refused = await send(wrong);
        assert.deepEqual([refused.status, refused.json.error], [400, 'invalid_dpop_proof']);
        const { agent_id, reason } = await lastRefusal();
        assert.deepEqual([agent_id, reason], [policy.agentId, refused.json.error_description]);
      }
      for (const { make, what, error = 'invalid_dpop_proof' } of proofMutations(t)) {
        const refused = await send(await make(prover, { htm: 'POST', htu: issuer + url }));
        assert.deepEqual([refused.status, refused.json.error], [400, error], what);
        assert.equal((await lastRefusal()).agent_id, policy.agentId, what);
      }
    }
  });
});

describe('our API with a bound token', () => {
  it('200 with the scheme DPoP in any case, and a nonce', async () => {
    for (const scheme of ['DPoP', 'dpop', 'DPOP']) {
      const { dpop } = await prover.headers(token, 'GET', path);
      const { status, text, headers } = await use({ authorization: `${scheme} ${token}`, dpop });
      assert.equal(status, 200, text);
      assert.ok(headers['dpop-nonce']);
    }
  });
  it('401 invalid_token as Bearer, with and without a proof', async () => {
    const { dpop } = await prover.headers(token, 'GET', path);
    const authorization = `Bearer ${token}`;
    for (const headers of [{ authorization }, { authorization, dpop }])
      await refusedAtApi(() => use(headers), 'invalid_token');
  });
  it('401 invalid_token for a token that is not bound, as DPoP', async () => {
    const unbound = await t.token(undefined, agent);
    await refusedAtApi(async () => use(await prover.headers(unbound, 'GET', path)), 'invalid_token');
    await refusedAtApi(() => use({ authorization: `DPoP ${unbound}` }), 'invalid_token');
  });
  it('401 without a proof, and for one of another key, token, method, path or use', async () => {
    const second = await createProver(t);
    const dpop = await prover.proof();
    const cases: Record<string, string>[] = [
      { authorization: `DPoP ${token}` },
      { authorization: `DPoP ${token}`, dpop },
      await second.headers(token, 'GET', path),
      await prover.headers(token, 'POST', path),
      await prover.headers(token, 'GET', '/api/v1/audit'),
      await prover.headers(token, 'GET', path, { claims: { ath: undefined } }),
      await prover.headers(token, 'GET', path, { claims: { ath: hashOfToken('x') } }),
    ];
    for (const headers of cases) await refusedAtApi(() => use(headers));
  });
  for (const { what, make, error } of proofMutations(t))
    it(`401 ${error ?? 'invalid_dpop_proof'} and a record for ${what}`, async () => {
      const dpop = await make(prover, { htm: 'GET', htu: issuer + path, ath: hashOfToken(token) });
      await refusedAtApi(() => use({ authorization: `DPoP ${token}`, dpop }), error);
    });
  it('401 for a proof that is sent twice, also at another node and at once', async () => {
    const headers = await prover.headers(token, 'GET', path);
    assert.equal((await use(headers)).status, 200);
    for (const app of [t, other])
      assert.equal((await refusedAtApi(() => use(headers, app))).reason, 'the proof was used before');
    const fresh = await prover.headers(token, 'GET', path);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => use(fresh, [t, other][at % 2])));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, ...Array(19).fill(401)]);
  });
  it('429 for an agent over its limit, whose proofs are not verified', async () => {
    const limited = await t.agent({ allowedScopes: ['agents:read'], rateLimitPerMinute: 3 });
    const bound = await boundToken(limited);
    startOfMinute(t.clock);
    const headers = () => prover.headers(bound, 'GET', path);
    for (const _ of [1, 2, 3]) assert.equal((await use(await headers())).status, 200);
    const wrong = await prover.headers(bound, 'POST', path);
    const before = await recorded('authentication.refused');
    for (const sent of [await headers(), wrong]) {
      const { status, json, headers: answered } = await use(sent);
      assert.deepEqual(
        [status, json.code, answered['x-ratelimit-limit'], answered['x-ratelimit-remaining']],
        [429, 'RATE_LIMIT_EXCEEDED', '3', '0'],
      );
    }
    assert.equal((await recorded('authentication.refused')).length, before.length);
    t.clock.advance(60_000);
    assert.equal((await use(wrong)).status, 401);
    assert.equal((await use(await headers())).status, 200);
  });
  it('401 with a DPoP challenge for a token that is not ours, and Bearer without any token', async () => {
    const { status, headers } = await use({ authorization: 'DPoP garbage' });
    assert.equal(status, 401);
    assert.match(String(headers['www-authenticate']), /^DPoP error="invalid_token", .*algs="/);
    assert.match(String((await use({})).headers['www-authenticate']), /^Bearer scope=/);
  });
  it('a holder of the token alone does not count against the agent', async () => {
    const [mine] = [await useBound()];
    const left = Number(mine.headers['x-ratelimit-remaining']);
    await use({ authorization: `Bearer ${token}` });
    await use({ authorization: `DPoP ${token}`, dpop: 'garbage' });
    assert.equal(Number((await useBound()).headers['x-ratelimit-remaining']), left - 1);
  });
  it('an open route shows more only with a proof', async () => {
    const url = `/api/v1/marketplace`;
    const open = async (headers: Record<string, string>) => (await t.call('GET', url, { headers })).status;
    assert.equal(await open({ authorization: `Bearer ${token}` }), await open({}));
    assert.equal(await open(await prover.headers(token, 'GET', url)), await open({}));
  });
});

describe('introspection', () => {
  it('says the type and the key, to a caller with a bound token too', async () => {
    const url = '/api/v1/token/introspect';
    const bound = await prover.headers(token, 'POST', url);
    const { json } = await t.call('POST', url, {
      payload: new URLSearchParams({ token }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...bound },
    });
    assert.deepEqual([json.active, json.token_type, json.cnf], [true, 'DPoP', { jkt: prover.jkt }]);
    const plain = await t.token(undefined, agent);
    const asked = (await t.form(url, { token: plain }, operator)).json;
    assert.deepEqual([asked.token_type, 'cnf' in asked], ['Bearer', false]);
  });
});

describe('an agent that demands proofs', () => {
  const change = (agentId: string, payload: object, as = operator) =>
    t.call('PATCH', `${path}/${agentId}`, { token: as, payload });
  it('400 without a proof, 200 with one; the preview says so; the change is recorded', async () => {
    const { agentId, ...client } = await t.agent({ dpopBoundAccessTokens: true });
    assert.equal(
      (await t.call('GET', `${path}/${agentId}`, { token: operator })).json.dpopBoundAccessTokens,
      true,
    );
    const [{ status, json }, { reason }] = await recordsOne('token.refused', () =>
      t.askToken(clientForm(client)),
    );
    assert.deepEqual([status, json.error, reason], [400, 'invalid_dpop_proof', 'no proof of possession']);
    assert.match(json.error_description, /this agent gets tokens only with a DPoP proof/);
    assert.ok(await boundToken({ agentId, ...client }));
    const preview = async () =>
      (await t.call('POST', '/api/v1/tokens/preview', { token: operator, payload: { agentId } })).json;
    const { allowed, proofRequired, claims } = await preview();
    assert.deepEqual([allowed, proofRequired, claims.cnf], [true, true, { jkt: null }]);
    const changed = await change(agentId, { dpopBoundAccessTokens: false });
    assert.equal(changed.json.dpopBoundAccessTokens, false, changed.text);
    const [event] = await t.sql(
      `select metadata -> 'changed' as changed from audit_events
       where action = 'agent.updated' and agent_id = $1 order by event_id desc limit 1`,
      [agentId],
    );
    assert.deepEqual(event, { changed: ['dpopBoundAccessTokens'] });
    assert.equal((await t.askToken(clientForm(client))).status, 200);
    assert.ok(!('proofRequired' in (await preview())));
  });
  it('400 for its workloads and its delegated tokens', async () => {
    const { createPolicy, exchange, lastRefusal } = await createTrustClient(t);
    const policy = await createPolicy();
    assert.equal((await change(policy.agentId, { dpopBoundAccessTokens: true })).status, 200);
    const { status, json } = await exchange(await policy.sign());
    assert.deepEqual([status, json.error], [400, 'invalid_dpop_proof']);
    assert.equal((await lastRefusal()).agent_id, policy.agentId);
  });
  it('403 for a caller that may not impersonate it to stop demanding them; it can begin to', async () => {
    const strong = await t.agent({ allowedScopes: ['agents:read', 'agents:write', 'audit:read'] });
    const weak = await t.agent({ allowedScopes: ['agents:read', 'agents:write'] });
    const as = await t.token(undefined, weak);
    assert.equal((await change(strong.agentId, { dpopBoundAccessTokens: true }, as)).status, 200);
    assert.equal((await change(strong.agentId, { dpopBoundAccessTokens: false }, as)).json.code, 'FORBIDDEN');
    assert.equal((await change(strong.agentId, { dpopBoundAccessTokens: false })).status, 200);
  });
});

describe('with DPOP_REQUIRE_NONCE=true', async () => {
  const strict = await startApp({ ...settings, DPOP_REQUIRE_NONCE: 'true' }, t);
  it('400 use_dpop_nonce without one, then 200 with the nonce of that answer; at our API too', async () => {
    const ask = async (nonce?: unknown) =>
      strict.askToken(clientForm(agent), { dpop: await prover.proof({ claims: { nonce } }) });
    const first = await refusedAtToken(() => ask(), 'use_dpop_nonce');
    assert.equal((await ask(first.headers['dpop-nonce'])).status, 200);
    const call = async (nonce?: unknown) =>
      use(await prover.headers(token, 'GET', path, { claims: { nonce } }), strict);
    const { headers } = await refusedAtApi(() => call(), 'use_dpop_nonce');
    assert.equal((await call(headers['dpop-nonce'])).status, 200);
  });
});

it('200 for a request target with scheme and host (RFC 9112 §3.2.2); 401 for a proof with another host', async () => {
  const node = await startApp(settings, t);
  await node.app.http.listen({ host: '127.0.0.1', port: 0 });
  const { port } = node.app.http.server.server.address() as AddressInfo;
  const ask = async (target: string, parts?: ProofParts) => {
    const headers = await prover.headers(token, 'GET', path, parts);
    const sent = request({ host: '127.0.0.1', port, path: target, headers }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
  const target = `http://127.0.0.1:${port}${path}?limit=1`;
  assert.equal(await ask(target), 200);
  assert.equal(await ask(target, { claims: { htu: `${issuer}${target}` } }), 401);
  assert.equal(await ask(target, { claims: { htu: `http://127.0.0.1:${port}${path}` } }), 401);
});
