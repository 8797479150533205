/** Keycloak as the OpenID provider of a company: in development mode, with its data in memory. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { findProgram, freePort, type Program, startProgram, until } from '../programs.ts';

/** Where scripts/keycloak-for-tests.sh puts it. */
const folder =
  process.env.KEYCLOAK_FOR_TESTS ||
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'countersign', 'keycloak-26.4.0');

/** It changes its own files before the first start, and creates its tables at every start. */
const startMs = 300_000;

const needsRestart = 10;

interface Keycloak {
  /** The address of the realm. */
  readonly issuer: string;
  addRealm(realm: Realm): Promise<void>;
  /** As the admin console exports it, with clients, groups and roles. Secrets are masked, and of the users only service accounts are there. */
  exportRealm(name: string): Promise<string>;
}

/** Its representation in the admin API. */
interface Realm {
  readonly realm: string;
  readonly [field: string]: unknown;
}

/** With this realm. Undefined when Java is not installed or Keycloak was not fetched. */
export async function startKeycloak(realm: Realm): Promise<Keycloak | undefined> {
  const java = findProgram('java');
  if (!java || !existsSync(folder)) return undefined;
  const [port, managementPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const admin = { username: 'admin', password: randomBytes(16).toString('hex') };
  const start = (...options: string[]): Program =>
    startProgram(java, [...optionsOfJava, ...options, ...command(port, managementPort)], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        KC_BOOTSTRAP_ADMIN_USERNAME: admin.username,
        KC_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
      },
    });
  const isReady = async () => ((await fetch(`${url}/realms/master`)).ok ? true : undefined);
  const first = start();
  await until('Keycloak', async () => first.hasEnded() || isReady(), undefined, startMs);
  if (first.hasEnded()) {
    if ((await first.ended()) !== needsRestart) throw new Error(first.output());
    await until('Keycloak', isReady, start('-Dkc.config.built=true'), startMs);
  }
  const addRealm: Keycloak['addRealm'] = async (added) => {
    await callAdmin(url, admin, '', added);
  };
  await addRealm(realm);
  return {
    issuer: `${url}/realms/${realm.realm}`,
    addRealm,
    exportRealm: (name) =>
      callAdmin(url, admin, `/${name}/partial-export?exportClients=true&exportGroupsAndRoles=true`, {}),
  };
}

/** As bin/kc.sh starts it, but without the shell: it would leave Java behind when it is killed. */
const optionsOfJava = [
  '-Xmx512m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  `-Dkc.home.dir=${folder}`,
  `-Djboss.server.config.dir=${join(folder, 'conf')}`,
  '-Djava.util.logging.manager=org.jboss.logmanager.LogManager',
  '-Dpicocli.disable.closures=true',
  '-Dquarkus-log-max-startup-records=10000',
  '-Djava.util.concurrent.ForkJoinPool.common.threadFactory=io.quarkus.bootstrap.forkjoin.QuarkusForkJoinWorkerThreadFactory',
  ...['util', 'util.concurrent', 'security'].map((name) => `--add-opens=java.base/java.${name}=ALL-UNNAMED`),
];

const command = (port: number, managementPort: number): string[] => [
  '-cp',
  join(folder, 'lib/quarkus-run.jar'),
  'io.quarkus.bootstrap.runner.QuarkusEntryPoint',
  'start-dev',
  '--db=dev-mem',
  '--cache=local',
  '--http-host=127.0.0.1',
  `--http-port=${port}`,
  `--http-management-port=${managementPort}`,
];

async function callAdmin(
  url: string,
  admin: Record<string, string>,
  path: string,
  body: object,
): Promise<string> {
  const form = new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...admin });
  const signedIn = await fetch(`${url}/realms/master/protocol/openid-connect/token`, {
    method: 'POST',
    body: form,
  });
  const { access_token: token } = (await signedIn.json()) as { access_token: string };
  const answer = await fetch(`${url}/admin/realms${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`Keycloak refused ${path || 'the realm'}: ${text}`);
  return text;
}
