/** The way to PostgreSQL: several hosts, a pooler, and the address without the pooler. */
import { type ExaminedHost, examineHosts } from '../../adapters/postgres/hosts.ts';
import { createPostgres, type PostgresOptions } from '../../adapters/postgres/postgres.ts';
import { isSameDatabase } from '../../adapters/postgres/start-checks.ts';
import { type Environment, loadVariable } from '../../kernel/config/config.ts';
import { databaseUrlsOf } from '../../kernel/config/server-urls.ts';
import type { Db } from '../../kernel/data/db.ts';
import { createLog } from '../../kernel/observability/log.ts';
import { createMetrics } from '../../kernel/observability/metrics.ts';
import { isRefusedByPooler } from '../pooler.ts';
import { type Finding, ok, problem, reasonOf, warning } from './check.ts';

export const openDatabase = (address: Pick<PostgresOptions, 'url' | 'pooler'>): Db =>
  createPostgres({
    ...address,
    poolSize: 2,
    log: createLog({ level: 'silent' }),
    metrics: createMetrics(),
    separatePool: true,
  });

/** A pooler that was not announced refuses our settings. */
export function explained(error: unknown): unknown {
  const reason = reasonOf(error);
  return isRefusedByPooler(reason)
    ? new Error(`${reason}: a pooler is in between; set DATABASE_POOLER=transaction`)
    : error;
}

/** Nothing to say of a single host: the other findings are about it. */
export async function hostsFindings(url: string): Promise<Finding[]> {
  const name = 'database hosts';
  if (databaseUrlsOf(url).length === 1) return [];
  const hosts = await examineHosts(url);
  const found = hosts
    .map(({ address, state }) => `${address} ${state instanceof Error ? 'does not answer' : `is ${state}`}`)
    .join(', ');
  if (countServers(hosts) > 1)
    return [
      problem(name, `${found}; two servers accept writes`, 'stop the former primary, or make it a standby'),
    ];
  const silent = hosts.flatMap(({ address, state }) =>
    state instanceof Error ? [`${address}: ${reasonOf(state)}`] : [],
  );
  return [
    silent.length === 0
      ? ok(name, found)
      : warning(name, `${found} (${silent.join('; ')})`, 'start the server, or correct DATABASE_URL'),
  ];
}

/** Those that accept writes. Several poolers may lead to the same one; a former primary has another timeline than its successor. */
const countServers = (hosts: readonly ExaminedHost[]): number =>
  new Set(
    hosts
      .filter(({ state }) => state === 'writable')
      .map(({ identity }) => `${identity?.systemIdentifier}/${identity?.timeline}`),
  ).size;

export async function directFinding(db: Db, env: Environment): Promise<Finding[]> {
  const name = 'database direct url';
  const directUrl = loadVariable('databaseDirectUrl', env);
  if (directUrl === undefined)
    return loadVariable('databasePooler', env) === 'none'
      ? []
      : [ok(name, 'DATABASE_DIRECT_URL is not set: webhook deliveries are found by polling')];
  const direct = openDatabase({ url: directUrl });
  try {
    return [
      (await isSameDatabase(db, direct))
        ? ok(name, 'DATABASE_DIRECT_URL leads to the same database')
        : problem(
            name,
            'DATABASE_DIRECT_URL leads to another database than DATABASE_URL',
            'use the address of the server behind the pooler, and the same database',
          ),
    ];
  } catch (error) {
    return [
      problem(
        name,
        `DATABASE_DIRECT_URL does not work: ${reasonOf(explained(error))}`,
        'use the address of the server behind the pooler; migrations and notifications need it',
      ),
    ];
  } finally {
    await direct.close();
  }
}
