/** Two processes share PostgreSQL and Redis: a revocation in one applies to the next request in the other. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDatabase, environment, newAgent, skipWithout } from '../support/harness.ts';
import {
  authorize,
  type Client,
  findProgram,
  makeOperator,
  startRedis,
  startServe,
} from '../support/programs.ts';
import { jwtType, tokenExchange } from '../support/scenarios/delegations.ts';
import { startServerInProcess } from '../support/server-in-process.ts';

describe('a delegation chain in two processes', () => {
  it('403 in the other process with the next request after a revoked link, narrowed scopes or a suspended subject', async (test) => {
    if (!findProgram('redis-server')) return skipWithout(test, 'redis-server');
    const redis = await startRedis();
    const env = environment(await createDatabase(), { REDIS_URL: String(redis?.url) });
    const operator = await makeOperator(env);
    const [here, there] = await Promise.all([startServe(env), startServerInProcess(env)]);
    const headers = await authorize(here.url, operator);

    const call = async (url: string, method: string, authorization: string, payload?: object) => {
      const response = await fetch(url, {
        method,
        headers: { authorization, ...(payload && { 'content-type': 'application/json' }) },
        ...(payload && { body: JSON.stringify(payload) }),
      });
      const text = await response.text();
      return { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
    };
    const makeAgent = async (): Promise<Client & { agentId: string }> => {
      const path = `${here.url}/api/v1/agents`;
      const { agentId } = (await call(path, 'POST', headers.authorization, newAgent())).json;
      return {
        agentId,
        ...(await call(`${path}/${agentId}/credentials`, 'POST', headers.authorization)).json,
      };
    };
    const redeem = async ({ clientId, clientSecret }: Client, subject_token: string): Promise<string> => {
      const response = await fetch(`${there.url}/api/v1/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: tokenExchange,
          client_id: clientId,
          client_secret: clientSecret,
          subject_token,
          subject_token_type: jwtType,
        }),
      });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      return `Bearer ${JSON.parse(text).access_token}`;
    };

    const elsewhere = (authorizations: readonly string[]) =>
      Promise.all(
        authorizations.map(async (authorization) => {
          const { status, json } = await call(`${there.url}/api/v1/agents?limit=1`, 'GET', authorization);
          return status === 200 ? '200' : `${status} ${json.code}`;
        }),
      );
    const times = (count: number, answer: string) => Array.from({ length: count }, () => answer);

    const cast = await Promise.all(Array.from({ length: 6 }, makeAgent));
    const rounds = 3;
    const survivors: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const root = await authorize(here.url, cast[0] as Client);
      const chainIds: string[] = [];
      const tokens: string[] = [];
      for (const delegatee of cast.slice(1)) {
        const payload = { delegateeId: delegatee.agentId, scopes: ['agents:read'], allowRedelegation: true };
        const by = tokens.at(-1) ?? root.authorization;
        const { status, json } = await call(`${here.url}/api/v1/delegations`, 'POST', by, payload);
        assert.equal(status, 201, JSON.stringify(json));
        chainIds.push(json.chainId);
        tokens.push(await redeem(delegatee, json.delegationToken));
      }
      // Twice, so that the other process answers from its cache.
      for (let time = 0; time < 2; time += 1) assert.deepEqual(await elsewhere(tokens), times(5, '200'));
      const second = `${here.url}/api/v1/delegations/${chainIds[1]}`;
      assert.equal((await call(second, 'DELETE', root.authorization)).status, 204);
      assert.deepEqual(await elsewhere(tokens), ['200', ...times(4, '403 DELEGATION_REVOKED')]);
      survivors.push(String(tokens[0]));
    }

    const first = `${here.url}/api/v1/agents/${cast[0]?.agentId}`;
    const narrowing = await call(first, 'PATCH', headers.authorization, { allowedScopes: ['audit:read'] });
    assert.equal(narrowing.status, 200);
    assert.deepEqual(await elsewhere(survivors), times(rounds, '403 INSUFFICIENT_SCOPE'));

    const suspension = await call(first, 'PATCH', headers.authorization, { status: 'suspended' });
    assert.equal(suspension.status, 200);
    assert.deepEqual(await elsewhere(survivors), times(rounds, '403 DELEGATION_REVOKED'));
  });
});
