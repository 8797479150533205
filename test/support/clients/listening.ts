/** A server on a real port whose issuer is its own URL, for third-party clients. */
import { generateKeyPairSync } from 'node:crypto';
import { exportJWK } from 'jose';
import { startApp, type TestApp } from '../harness.ts';
import { freePort } from '../programs.ts';
import { createApprovalScenario } from '../scenarios/approvals.ts';
import { createAuthorizationScenario } from '../scenarios/authorization.ts';

export interface Listening extends TestApp {
  readonly issuer: string;
}

export async function listen(changes: Record<string, string> = {}): Promise<Listening> {
  const port = await freePort();
  const issuer = `http://localhost:${port}`;
  const t = await startApp({ BASE_URL: issuer, ...changes });
  await t.app.http.server.listen({ port, host: '127.0.0.1' });
  return { ...t, issuer };
}

/** The same, with people who sign in through their company's provider, an API and clients. */
export async function listenForPeople(changes: Record<string, string> = {}) {
  const port = await freePort();
  const scenario = await createAuthorizationScenario({ BASE_URL: `http://localhost:${port}`, ...changes });
  await scenario.t.app.http.server.listen({ port, host: '127.0.0.1' });
  return scenario;
}

/** The same, with agents that ask people. */
export async function listenForApprovals() {
  const port = await freePort();
  const issuer = `http://localhost:${port}`;
  const scenario = await createApprovalScenario({ BASE_URL: issuer });
  await scenario.t.app.http.server.listen({ port, host: '127.0.0.1' });
  return { ...scenario, issuer };
}

/** An agent with a secret and a registered key. */
export async function clientOf(t: Listening) {
  const agent = await t.agent({ allowedScopes: ['agents:read', 'tokens:read'] });
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = { ...(await exportJWK(publicKey)), kid: 'client-key', alg: 'ES256' };
  const put = await t.call('PUT', `/api/v1/agents/${agent.agentId}/keys`, {
    token: await t.token(),
    payload: { keys: [key] },
  });
  if (put.status !== 200) throw new Error(put.text);
  return { ...agent, privateKey };
}
