/** A PostgreSQL primary and its synchronous standby, with TLS. Undefined when the server programs are not installed. */
import { chmodSync, copyFileSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execute } from '../../harness.ts';
import { authorityFile } from '../../peers/receivers.ts';
import { freePort, type Program, until } from '../../programs.ts';
import { findPostgresPrograms, initCluster, runUnprivileged, settingArgs } from './postgres-programs.ts';
import { chownToUnprivileged, startUnprivileged } from './unprivileged.ts';

export interface PostgresNode {
  readonly port: number;
  /** A URL of this server alone. */
  readonly url: string;
  readonly program: Program;
  /** The same server again, after it was killed. */
  restart(): Promise<PostgresNode>;
}

export interface PostgresPair {
  readonly primary: PostgresNode;
  readonly standby: PostgresNode;
  /** Both, the primary first. */
  readonly url: string;
  /** Every commit waits for the standby from now on. */
  makeSynchronous(): Promise<void>;
  promote(): Promise<void>;
}

const fixture = (name: string) => fileURLToPath(new URL(`../../../fixtures/tls/${name}`, import.meta.url));

const urlOf = (hosts: string) =>
  `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write&sslmode=verify-full&sslrootcert=${encodeURIComponent(authorityFile)}&connectionTimeoutMillis=60000`;

export async function startPostgresPair(): Promise<PostgresPair | undefined> {
  const programs = findPostgresPrograms();
  if (!programs) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'countersign-postgres-'));
  chownToUnprivileged(folder);
  chmodSync(folder, 0o700);
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  const certificate = join(folder, 'server.pem');
  const key = join(folder, 'server-key.pem');
  copyFileSync(fixture('server.pem'), certificate);
  copyFileSync(fixture('server-key.pem'), key);
  for (const path of [certificate, key]) chownToUnprivileged(path);
  chmodSync(key, 0o600);

  const startNode = async (name: string, port: number): Promise<PostgresNode> => {
    const settings = {
      port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      ssl: 'on',
      ssl_cert_file: certificate,
      ssl_key_file: key,
      max_connections: 100,
      log_min_messages: 'fatal',
    };
    const program = startUnprivileged(
      join(programs, 'postgres'),
      ['-D', join(folder, name), ...settingArgs(settings)],
      folder,
    );
    const url = urlOf(`127.0.0.1:${port}`);
    await until(`${name} answers`, () => execute(url, 'select 1'), program);
    return { port, url, program, restart: () => startNode(name, port) };
  };

  const [primaryPort, standbyPort] = [await freePort(), await freePort()];
  await initCluster(programs, join(folder, 'primary'), folder);
  const primary = await startNode('primary', primaryPort);
  await runUnprivileged(
    join(programs, 'pg_basebackup'),
    [
      ...['-D', join(folder, 'standby'), '-R', '-X', 'stream', '-c', 'fast', '--no-sync', '-d'],
      `host=127.0.0.1 port=${primaryPort} user=postgres application_name=standby`,
    ],
    folder,
  );
  const standby = await startNode('standby', standbyPort);
  return {
    primary,
    standby,
    url: urlOf(`127.0.0.1:${primaryPort},127.0.0.1:${standbyPort}`),
    async makeSynchronous() {
      await execute(primary.url, `alter system set synchronous_standby_names = 'standby'`);
      await execute(primary.url, 'select pg_reload_conf()');
      await until('the standby is synchronous', async () => {
        const rows = await execute(
          primary.url,
          `select from pg_stat_replication where application_name = 'standby' and sync_state = 'sync'`,
        );
        return rows.length === 1 || undefined;
      });
    },
    async promote() {
      await execute(standby.url, 'select pg_promote()');
    },
  };
}
