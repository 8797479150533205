/** Creates, redeems, revokes and verifies delegations. */
import assert from 'node:assert/strict';
import type { Answer, TestApp } from '../harness.ts';

export const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const jwtType = 'urn:ietf:params:oauth:token-type:jwt';
export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

export interface Client {
  readonly agentId: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface IssuedDelegation {
  readonly chainId: string;
  readonly delegationToken: string;
  readonly expiresAt: string;
}

export const createDelegationClient = (t: TestApp) => {
  const delegate = (token: string, payload: object): Promise<Answer> =>
    t.call('POST', '/api/v1/delegations', { token, payload });

  const exchange = (client: Client, subject_token: string, more: Record<string, string> = {}) =>
    t.askToken({
      grant_type: tokenExchange,
      client_id: client.clientId,
      client_secret: client.clientSecret,
      subject_token,
      subject_token_type: jwtType,
      ...more,
    });

  return {
    delegate,
    exchange,

    async createDelegation(
      token: string,
      delegatee: Client,
      scopes: readonly string[],
      more: object = {},
    ): Promise<IssuedDelegation> {
      const answer = await delegate(token, { delegateeId: delegatee.agentId, scopes, ...more });
      assert.equal(answer.status, 201, answer.text);
      return answer.json;
    },

    /** An access token. */
    async redeem(
      client: Client,
      { delegationToken }: IssuedDelegation,
      more: Record<string, string> = {},
    ): Promise<string> {
      const answer = await exchange(client, delegationToken, more);
      assert.equal(answer.status, 200, answer.text);
      return answer.json.access_token;
    },

    revoke: (token: string, chainId: string) => t.call('DELETE', `/api/v1/delegations/${chainId}`, { token }),
    verify: (callerToken: string, token: string) =>
      t.call('POST', '/api/v1/delegations/verify', { token: callerToken, payload: { token } }),
    /** The status and code of a call that needs `agents:read`. */
    async listAgents(token: string): Promise<string> {
      const { status, json } = await t.call('GET', '/api/v1/agents', { token });
      return status === 200 ? '200' : `${status} ${json.code}`;
    },
  };
};
