/** Keycloak in production mode with its defaults, on a database of the bench, over HTTP on loopback. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Agent, secretOf } from '../agents.ts';
import { freePort, type Serving } from '../serving.ts';
import { startRival } from './rival-process.ts';

const script = fileURLToPath(new URL('../../../scripts/keycloak-for-tests.sh', import.meta.url));
export const keycloakTokenPath = '/realms/bench/protocol/openid-connect/token';

/** Has a confidential client with a service account for each agent. */
export async function serveKeycloak(database: string, agents: readonly Agent[]): Promise<Serving> {
  const { stdout } = await promisify(execFile)(script);
  const [port, managementPort] = [await freePort(), await freePort()];
  const { username, password, port: databasePort, pathname } = new URL(database);
  const admin = { username: 'bench', password: randomBytes(16).toString('hex') };
  const server = await startRival({
    command: join(stdout.trim(), 'bin/kc.sh'),
    args: ['start'],
    env: {
      KC_DB: 'postgres',
      KC_DB_URL: `jdbc:postgresql://127.0.0.1:${databasePort}${pathname}`,
      KC_DB_USERNAME: decodeURIComponent(username),
      KC_DB_PASSWORD: decodeURIComponent(password),
      KC_HTTP_ENABLED: 'true',
      KC_HTTP_HOST: '127.0.0.1',
      KC_HTTP_PORT: String(port),
      KC_HTTP_MANAGEMENT_PORT: String(managementPort),
      KC_HOSTNAME_STRICT: 'false',
      KC_BOOTSTRAP_ADMIN_USERNAME: admin.username,
      KC_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
    },
    url: `http://127.0.0.1:${port}`,
    readyPath: '/realms/master',
  });
  try {
    await createRealm(server.url, admin, agents);
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

interface Admin {
  readonly username: string;
  readonly password: string;
}

/** In one request with the realm, the time for a thousand clients would be quadratic and beyond the timeout of fetch. */
async function createRealm(url: string, admin: Admin, agents: readonly Agent[]): Promise<void> {
  await postAsAdmin(url, '/admin/realms', await signIn(url, admin), { realm: 'bench', enabled: true });
  for (let start = 0; start < agents.length; start += clientsPerToken) {
    const token = await signIn(url, admin);
    for (const agent of agents.slice(start, start + clientsPerToken))
      await postAsAdmin(url, '/admin/realms/bench/clients', token, clientOf(agent));
  }
}

/** A token of the administrator is valid for a minute. */
const clientsPerToken = 100;

const clientOf = (agent: Agent) => ({
  clientId: agent.agentId,
  secret: secretOf(agent),
  publicClient: false,
  serviceAccountsEnabled: true,
  standardFlowEnabled: false,
  directAccessGrantsEnabled: false,
});

async function signIn(url: string, admin: Admin): Promise<string> {
  const form = new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...admin });
  const answer = await post(`${url}/realms/master/protocol/openid-connect/token`, form);
  return (answer as { access_token: string }).access_token;
}

const postAsAdmin = (url: string, path: string, token: string, body: object) =>
  post(`${url}${path}`, JSON.stringify(body), {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
  });

async function post(url: string, body: string | URLSearchParams, headers: Record<string, string> = {}) {
  const response = await fetch(url, { method: 'POST', body, headers });
  const text = await response.text();
  if (!response.ok) throw new Error(`POST ${url}: ${response.status} ${text}`);
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}
