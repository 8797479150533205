/** PostgreSQL clusters of Debian's programs with a WAL archive, for tests of backup and restore. Each ends with its test file. */
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { execute } from '../../harness.ts';
import { freePort, until } from '../../programs.ts';
import { findPostgresPrograms, initCluster, runUnprivileged, settingArgs } from './postgres-programs.ts';
import { chownToUnprivileged, startUnprivileged } from './unprivileged.ts';

export interface BackupCluster {
  /** The database of Countersign. */
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

export interface BackupClusters {
  /** The folder of pg_dump and the other programs. */
  readonly programs: string;
  /** A new cluster, with the empty database `countersign`. */
  create(name: string): Promise<BackupCluster>;
  /** `pg_basebackup` of a running cluster. */
  baseBackup(from: BackupCluster, name: string): Promise<void>;
  /** Starts a base backup, recovered from the archive up to this time. */
  recover(name: string, until: string): Promise<BackupCluster>;
}

/** Undefined when PostgreSQL's server and client programs are not installed. */
export function openBackupClusters(): BackupClusters | undefined {
  const programs = findPostgresPrograms();
  if (!programs) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'countersign-backup-'));
  const archive = join(folder, 'archive');
  mkdirSync(archive);
  for (const path of [folder, archive]) {
    chownToUnprivileged(path);
    chmodSync(path, 0o700);
  }
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));

  const startCluster = async (
    name: string,
    settings: Record<string, string> = {},
  ): Promise<BackupCluster> => {
    const port = await freePort();
    const all = {
      port: String(port),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      // Processes are stopped here, not the machine.
      fsync: 'off',
      archive_mode: 'on',
      archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f`,
      ...settings,
    };
    const program = startUnprivileged(
      join(programs, 'postgres'),
      ['-D', join(folder, name), ...settingArgs(all)],
      folder,
    );
    const maintenance = `postgres://postgres@127.0.0.1:${port}/postgres`;
    await until(
      `${name} answers`,
      async () => {
        const [row] = await execute<{ ready: boolean }>(
          maintenance,
          'select not pg_is_in_recovery() as ready',
        );
        return row?.ready || undefined;
      },
      program,
    );
    return {
      url: new URL('/countersign', maintenance).href,
      port,
      async stop() {
        program.kill('SIGINT');
        await program.gone();
      },
    };
  };

  return {
    programs,
    async create(name) {
      await initCluster(programs, join(folder, name), folder);
      const cluster = await startCluster(name);
      await execute(new URL('/postgres', cluster.url).href, 'create database countersign');
      return cluster;
    },
    async baseBackup({ port }, name) {
      const connection = `host=127.0.0.1 port=${port} user=postgres`;
      await runUnprivileged(
        join(programs, 'pg_basebackup'),
        ['-D', join(folder, name), '-X', 'none', '-c', 'fast', '--no-sync', '-d', connection],
        folder,
      );
    },
    recover(name, time) {
      const signal = join(folder, name, 'recovery.signal');
      writeFileSync(signal, '');
      chownToUnprivileged(signal);
      return startCluster(name, {
        restore_command: `cp ${archive}/%f %p`,
        recovery_target_time: time,
        recovery_target_action: 'promote',
      });
    },
  };
}
