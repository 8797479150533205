/** Ory Hydra 2 from HYDRA_BIN with its defaults, on a database of the bench, over HTTP on loopback. Its access tokens are JWTs, as ours. */
import { randomBytes } from 'node:crypto';
import { type Agent, secretOf } from '../agents.ts';
import { freePort, type Serving } from '../serving.ts';
import { runRival, startRival } from './rival-process.ts';

export const hydraTokenPath = '/oauth2/token';

export async function serveHydra(
  command: string,
  database: string,
  agents: readonly Agent[],
): Promise<Serving> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const dsn = new URL(database);
  dsn.search = '?sslmode=disable';
  const env = {
    DSN: dsn.href,
    SECRETS_SYSTEM: randomBytes(16).toString('hex'),
    URLS_SELF_ISSUER: url,
    SERVE_PUBLIC_HOST: '127.0.0.1',
    SERVE_PUBLIC_PORT: String(port),
    SERVE_ADMIN_HOST: '127.0.0.1',
    SERVE_ADMIN_PORT: String(adminPort),
    STRATEGIES_ACCESS_TOKEN: 'jwt',
    SQA_OPT_OUT: 'true',
    LOG_LEVEL: 'error',
  };
  await runRival({ command, args: ['migrate', 'sql', '-e', '--yes'], env });
  // --dev allows HTTP.
  const args = ['serve', 'all', '--dev'];
  const server = await startRival({ command, args, env, url, readyPath: '/health/ready' });
  try {
    for (const agent of agents) await createClient(`http://127.0.0.1:${adminPort}`, agent);
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function createClient(adminUrl: string, agent: Agent): Promise<void> {
  const response = await fetch(`${adminUrl}/admin/clients`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_id: agent.agentId,
      client_secret: secretOf(agent),
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'client_secret_basic',
    }),
  });
  if (!response.ok) throw new Error(`Hydra: ${response.status} ${await response.text()}`);
  await response.arrayBuffer();
}
