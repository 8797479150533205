/** PgBouncer in transaction mode before the test database server. Undefined when it is not installed. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { succeedSync } from '../../child-process.ts';
import { freePort, type Program, until } from '../../programs.ts';
import { findTool } from '../tools.ts';
import { chownToUnprivileged, startUnprivileged } from './unprivileged.ts';

export interface PgBouncer {
  readonly program: Program;
  /** The same database through the pooler. */
  through(databaseUrl: string): string;
}

/** From 1.21; earlier ones refuse the setting. */
function knowsPreparedStatements(path: string): boolean {
  const said = succeedSync(path, ['--version']);
  const [, major = '0', minor = '0'] = /PgBouncer (\d+)\.(\d+)/.exec(said) ?? [];
  return Number(major) > 1 || Number(minor) >= 21;
}

export async function startPgBouncer(
  databaseUrl: string,
  options: { poolSize: number; settings?: Record<string, string>; preparedStatements?: false },
): Promise<PgBouncer | undefined> {
  const path = findTool('pgbouncer');
  if (!path) return undefined;
  const server = new URL(databaseUrl);
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'countersign-pgbouncer-'));
  after(() => rm(folder, { recursive: true, force: true }));
  const users = join(folder, 'users.txt');
  writeFileSync(
    users,
    `"${decodeURIComponent(server.username)}" "${decodeURIComponent(server.password).replaceAll('"', '""')}"\n`,
  );
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: users,
    pool_mode: 'transaction',
    default_pool_size: options.poolSize,
    max_client_conn: 200,
    ...(options.preparedStatements === false &&
      knowsPreparedStatements(path) && { max_prepared_statements: 0 }),
    ...options.settings,
  };
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    [
      '[databases]',
      `* = host=${server.hostname} port=${server.port}`,
      '[pgbouncer]',
      ...Object.entries(settings).map(([name, value]) => `${name} = ${value}`),
      '',
    ].join('\n'),
  );
  for (const each of [folder, users, file]) chownToUnprivileged(each);
  const program = startUnprivileged(path, [file], '/');
  await until('pgbouncer listens', async () => /process up/.test(program.output()) || undefined, program);
  return {
    program,
    through(url) {
      const pooled = new URL(url);
      pooled.host = `127.0.0.1:${port}`;
      return pooled.href;
    },
  };
}
