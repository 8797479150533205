/** A running server with organizations, agents and delegations, for scaffolded projects. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { importPKCS8, SignJWT } from 'jose';
import { createDatabase, environment, newAgent } from '../harness.ts';
import {
  authorize,
  type Client,
  freePort,
  makeOperator,
  startCountersign,
  untilHealthy,
} from '../programs.ts';

export interface ScaffoldServer {
  readonly url: string;
  /** GET, or POST when there is a body; fails unless the answer is 2xx. */
  call(path: string, as: { authorization: string }, body?: object): Promise<Response>;
  /** An agent that may hold `agents:read`, with a credential. */
  register(particulars?: object): Promise<{ email: string; client: Client }>;
  newOrganization(): Promise<string>;
  /** POST /token as this client; by default its own token for the API. */
  issue(client: Client, fields?: Record<string, string>): Promise<string>;
  /** The delegator, with its token, delegates `agents:read`; the delegatee redeems it. */
  delegate(token: string, to: Client): Promise<{ token: string; chainId: string }>;
  /** A token with these claims, signed with the server's own key; undefined removes a claim. */
  forge(token: string, changes: Record<string, unknown>): Promise<string>;
}

const tokenExchange = {
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
};

export async function startScaffoldServer(): Promise<ScaffoldServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = environment(await createDatabase(), { BASE_URL: url });
  const program = startCountersign(['serve'], { ...env, HOST: '127.0.0.1', PORT: String(port) });
  await untilHealthy(port, program);
  const operator = await makeOperator(env);

  const call: ScaffoldServer['call'] = async (path, as, body) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { ...as, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, `${path}: ${response.status} ${response.ok ? '' : await response.text()}`);
    return response;
  };
  const post = async <T>(path: string, as: { authorization: string }, body: object) =>
    (await (await call(path, as, body)).json()) as T;

  const issue: ScaffoldServer['issue'] = async ({ clientId, clientSecret }, fields = {}) => {
    const response = await fetch(`${url}/api/v1/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
        ...fields,
      }),
    });
    const answer = (await response.json()) as { access_token: string };
    assert.equal(response.status, 200, JSON.stringify(answer));
    return answer.access_token;
  };

  return {
    url,
    call,
    issue,
    async register(particulars = {}) {
      const asOperator = await authorize(url, operator);
      const wanted = newAgent({ ...particulars, allowedScopes: ['agents:read'] });
      const { agentId } = await post<{ agentId: string }>('/agents', asOperator, wanted);
      const client = await post<Client>(`/agents/${agentId}/credentials`, asOperator, {});
      return { email: wanted.email, client };
    },
    async newOrganization() {
      const slug = `tenant-${randomBytes(6).toString('hex')}`;
      const asOperator = await authorize(url, operator);
      const wanted = { name: slug, slug };
      return (await post<{ organizationId: string }>('/organizations', asOperator, wanted)).organizationId;
    },
    async delegate(token, to) {
      const { chainId, delegationToken } = await post<{ chainId: string; delegationToken: string }>(
        '/delegations',
        { authorization: `Bearer ${token}` },
        { delegateeId: to.clientId, scopes: ['agents:read'], allowRedelegation: true },
      );
      return { chainId, token: await issue(to, { ...tokenExchange, subject_token: delegationToken }) };
    },
    async forge(token, changes) {
      const [header, claims] = token
        .split('.', 2)
        .map((part) => JSON.parse(`${Buffer.from(part, 'base64url')}`));
      return new SignJWT({ ...claims, ...changes })
        .setProtectedHeader(header)
        .sign(await importPKCS8(env.JWT_PRIVATE_KEY, 'RS256'));
    },
  };
}
