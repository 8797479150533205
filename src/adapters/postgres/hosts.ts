/**
 * The choice among several hosts of DATABASE_URL: the one that accepts writes. All are asked at the start, and again after each
 * sign of a failover. While the host in use accepts writes, a silent standby is not waited for. With a single host there is no
 * choice, and nothing is asked.
 *
 * A promotion begins a new timeline. A former primary that returns and accepts writes has the lower one, and is not used: its
 * writes would be lost. A server of another system has other data, and is never used either.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUrlsOf, hidePasswordParameters, shownAddress } from '../../kernel/config/server-urls.ts';
import { DatabaseUnavailable } from '../../kernel/data/db.ts';
import type { Log } from '../../kernel/observability/log.ts';
import { createClient, endWithoutWaiting, shortTimeoutOf } from './client.ts';

export interface Hosts {
  /** The URL of the host in use. */
  current(): string;
  /** After an error that a failover may have caused: the next `settle` asks the hosts. */
  suspect(): void;
  /** Resolves at once, unless a failover is suspected: then when a host has been chosen, or none accepts writes. */
  settle(): Promise<void>;
  /** Calls back after each change of `current`. The returned function ends this. */
  onSwitch(callback: () => void): () => void;
}

interface SystemIdentity {
  /** The same for a primary and its standbys. */
  readonly systemIdentifier: string;
  readonly timeline: number;
}

interface Primary {
  readonly url: string;
  /** Undefined where the server does not say it, as some hosted ones. */
  readonly identity: SystemIdentity | undefined;
}

/** A host that accepts writes, or why it does not. */
interface Answer {
  readonly url: string;
  readonly primary?: Primary;
  readonly problem?: string;
}

/** While no host accepts writes, all are asked at most this often. */
const askAgainMs = 500;
/** How long the others may take to answer once the host in use has. A successor that runs answers sooner. */
const othersMs = 250;

export function createHosts(url: string, log: Log): Hosts {
  const urls = databaseUrlsOf(url);
  const callbacks = new Set<() => void>();
  let current = urls[0] ?? url;
  let hasChosen = false;
  let suspected = urls.length > 1;
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;
  /** The highest timeline of each system. */
  const timelines = new Map<string, number>();
  /** Of the first host that was chosen, if it says it. */
  let systemInUse: string | undefined;
  const reported = new Set<string>();
  let noneReported = '';

  const isFormerPrimary = ({ identity }: Primary) =>
    identity !== undefined && identity.timeline < (timelines.get(identity.systemIdentifier) ?? 0);

  const isOtherSystem = ({ identity }: Primary) =>
    identity !== undefined && systemInUse !== undefined && identity.systemIdentifier !== systemInUse;

  const refuse = (primary: Primary) => {
    if (reported.has(primary.url)) return;
    reported.add(primary.url);
    log.error(
      { host: shownAddress(primary.url) },
      isOtherSystem(primary)
        ? 'a host of DATABASE_URL is no copy of the database in use; not using it. Remove it from DATABASE_URL'
        : 'a former primary of the database accepts writes; not using it. Stop it, or make it a standby',
    );
  };

  /** Returns the primaries that may be used. */
  const usableOf = (primaries: readonly Primary[]) => {
    for (const { identity } of primaries)
      if (identity)
        timelines.set(
          identity.systemIdentifier,
          Math.max(identity.timeline, timelines.get(identity.systemIdentifier) ?? 0),
        );
    const isUsable = (primary: Primary) => !isFormerPrimary(primary) && !isOtherSystem(primary);
    for (const primary of primaries) if (!isUsable(primary)) refuse(primary);
    const usable = primaries.filter(isUsable);
    for (const { url: each } of usable) reported.delete(each);
    return usable;
  };

  /** Once for the same reasons: the hosts are asked again and again. */
  const reportNone = (answers: readonly Answer[]) => {
    const hosts = answers.map(({ url: each, problem = 'not usable' }) => `${shownAddress(each)}: ${problem}`);
    const reasons = hosts.join('; ');
    if (reasons === noneReported) return;
    noneReported = reasons;
    log.error({ hosts }, 'no host of DATABASE_URL can be used');
  };

  const choose = (answers: readonly Answer[]) => {
    const primaries = answers.flatMap(({ primary }) => primary ?? []);
    const usable = usableOf(primaries);
    if (!hasChosen) requireOneSystem(usable);
    const best = usable.find((primary) => primary.url === current) ?? usable[0];
    if (!best) return reportNone(answers);
    suspected = false;
    noneReported = '';
    hasChosen = true;
    systemInUse ??= best.identity?.systemIdentifier;
    if (best.url === current) return;
    const from = shownAddress(current);
    current = best.url;
    log.warn({ from, to: shownAddress(current) }, 'another database server accepts the writes; using it');
    for (const callback of callbacks) callback();
  };

  /** The host in use is kept without the answers of the others. They may still show that it has a successor. */
  const keep = async (inUse: Primary, all: Promise<readonly Answer[]>) => {
    suspected = false;
    const primaries = (await all).flatMap(({ primary }) => primary ?? []);
    if (current !== inUse.url) return;
    usableOf(primaries);
    if (!isFormerPrimary(inUse)) return;
    suspected = true;
    askedAt = Number.NEGATIVE_INFINITY;
  };

  const ask = async () => {
    const answers = urls.map((each) => askHost(each));
    const all = Promise.all(answers);
    // At the start any host may be a former primary: all are waited for.
    const inUse = hasChosen ? (await answers[urls.indexOf(current)])?.primary : undefined;
    if (inUse && !isFormerPrimary(inUse)) {
      const othersAreLate = await Promise.race([
        all.then(() => false),
        sleep(othersMs, true, { ref: false }),
      ]);
      if (othersAreLate) return void keep(inUse, all);
    }
    choose(await all);
  };

  return {
    current: () => current,
    suspect() {
      suspected = urls.length > 1;
    },
    async settle() {
      if (!suspected || performance.now() - askedAt < askAgainMs) return asking;
      askedAt = Number.POSITIVE_INFINITY;
      asking = ask().finally(() => {
        askedAt = performance.now();
        asking = undefined;
      });
      await asking;
    },
    onSwitch(callback) {
      callbacks.add(callback);
      return () => void callbacks.delete(callback);
    },
  };
}

/** At the start nothing tells which of two systems has our data. */
function requireOneSystem(primaries: readonly Primary[]): void {
  const systems = new Set(primaries.flatMap(({ identity }) => identity?.systemIdentifier ?? []));
  if (systems.size < 2) return;
  const hosts = primaries.map(({ url }) => shownAddress(url)).join(' and ');
  throw new DatabaseUnavailable(
    new Error(`${hosts} accept writes and have different data: name only one database and its standbys`),
  );
}

async function askHost(url: string): Promise<Answer> {
  try {
    const { isWritable, identity } = await examineHost(url);
    return isWritable ? { url, primary: { url, identity } } : { url, problem: 'accepts no writes' };
  } catch (error) {
    return { url, problem: reasonOf(error) };
  }
}

/** An address with several IP addresses has an error for each, and no message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return hidePasswordParameters(error instanceof Error ? error.message : String(error));
}

async function examineHost(
  url: string,
): Promise<{ isWritable: boolean; identity: SystemIdentity | undefined }> {
  const askTimeoutMs = shortTimeoutOf(url);
  const client = createClient({
    connectionString: url,
    application_name: 'countersign-hosts',
    connectionTimeoutMillis: askTimeoutMs,
    query_timeout: askTimeoutMs,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query(
      `select current_setting('transaction_read_only') = 'off' as writable`,
    );
    if (!rows[0]?.writable) return { isWritable: false, identity: undefined };
    const identity = await client.query(identifySystem).catch(() => undefined);
    return { isWritable: true, identity: identity?.rows[0] };
  } finally {
    endWithoutWaiting(client);
  }
}

/** The first eight digits of a WAL file's name are the timeline. A checkpoint would record a new one only later. */
const identifySystem = `
  select system_identifier::text as "systemIdentifier",
         ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer as timeline
  from pg_control_system()`;

export interface ExaminedHost {
  readonly address: string;
  /** An error: why it does not answer. */
  readonly state: 'writable' | 'read-only' | Error;
  /** Of a writable one that says it. */
  readonly identity?: SystemIdentity | undefined;
}

/** For `countersign doctor`: all hosts of the URL. */
export const examineHosts = (url: string): Promise<ExaminedHost[]> =>
  Promise.all(
    databaseUrlsOf(url).map(async (each) => {
      const address = shownAddress(each);
      return examineHost(each).then(
        ({ isWritable, identity }) => ({ address, state: isWritable ? 'writable' : 'read-only', identity }),
        (error: unknown) => ({ address, state: error instanceof Error ? error : new Error(String(error)) }),
      );
    }),
  );
