/** Tampering with an audit log: events recorded through the ledger, and changes that are rolled back after verification. */
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { after } from 'node:test';
import pg from 'pg';
import { createSigner, createStatementReader } from '../../../src/adapters/keys/keys.ts';
import { createPostgres } from '../../../src/adapters/postgres/postgres.ts';
import type { EventType } from '../../../src/contract/events.ts';
import {
  eventHash,
  firstHash,
  type Link,
  linkHash,
  linkRecord,
  type StoredEvent,
} from '../../../src/features/audit/chain/hashes.ts';
import { createAudit } from '../../../src/features/audit/feature.ts';
import { canonicalOf } from '../../../src/features/audit/log/canonical-store.ts';
import { loadConfig } from '../../../src/kernel/config/config.ts';
import type { Db, Tx } from '../../../src/kernel/data/db.ts';
import type { Sql } from '../../../src/kernel/data/sql.ts';
import { createLedger } from '../../../src/kernel/ledger.ts';
import { createLog } from '../../../src/kernel/observability/log.ts';
import { createMetrics } from '../../../src/kernel/observability/metrics.ts';
import { environment, execute, type TestApp } from '../harness.ts';

/** SQL: the canonical text of a row. */
export const canonical = canonicalOf('audit_events').sql;

/** Stores the texts of an organization's events, as earlier versions did. */
export const storeTexts = (t: TestApp, organizationId: string) =>
  execute(
    t.databaseUrl,
    `set session_replication_role = replica;
     update audit_events set canonical = ${canonical} where organization_id = '${organizationId}'`,
  );

/** Records events of several types for one organization, in one transaction. */
export async function recordEvents(
  t: Pick<TestApp, 'app' | 'clock'>,
  organizationId: string,
  events: number,
): Promise<void> {
  const { app, clock } = t;
  const ledger = createLedger({ clock, ids: app.ids, listeners: [app.audit.listener] });
  const types: EventType[] = ['token.issued', 'agent.created', 'credential.rotated'];
  const entries = Array.from({ length: events }, (_, index) => ({
    actor: { requestId: app.ids.uuid(), ipAddress: '192.0.2.1', userAgent: 'probe "1" — ünï\u0001' },
    type: types[index % types.length] as EventType,
    subject: {
      organizationId,
      agentId: app.ids.uuid(),
      metadata: { tokenId: app.ids.uuid(), expiresIn: 3600, share: 0.25, names: ['ä', 'b\n'] },
    },
  }));
  await app.db.transaction((tx) => ledger.recordAll(tx, entries));
}

/**
 * A superuser session that bypasses every trigger. Tampering and verification happen on one
 * connection, in a transaction that is rolled back.
 */
export async function createTamperSession({ databaseUrl, clock }: TestApp) {
  const log = createLog({ level: 'silent' });
  const metrics = createMetrics();
  const own = createPostgres({ url: databaseUrl, poolSize: 1, log, metrics });
  const config = loadConfig(environment(databaseUrl));
  const issuer = config.baseUrl;
  const signer = await createSigner({ ...config.signingKeys, previousPublicKeys: [], issuer, clock });
  const run = <Row = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> =>
    own.many('tamper', { text, values } as unknown as Sql);

  const db: Db = {
    ...own,
    async transaction(work) {
      await run('savepoint verification');
      const tx: Tx = {
        ...own,
        // The transaction is already open.
        run: async (name, query) => (name === 'audit.snapshot' ? 0 : own.run(name, query)),
        atCommit: () => assert.fail('a tamper session records nothing'),
        afterCommit: (callback) => callback(),
      };
      return work(tx).catch(async (error) => {
        await run('rollback to savepoint verification');
        throw error;
      });
    },
  };
  const readStatement = createStatementReader();
  const newProcess = () => createAudit({ db, clock, log, metrics, signer, readStatement });
  const longRunning = newProcess();
  await run('set session_replication_role = replica');
  return {
    run,
    /** The result of verification after tampering, which is rolled back. A long-running process also compares with its own checkpoints. */
    async verifyAfter(organizationId: string, tamper: () => Promise<unknown>, by?: 'running') {
      const audit = by === 'running' ? longRunning : newProcess();
      await run('begin');
      try {
        await tamper();
        return await audit.verify(organizationId);
      } finally {
        await run('rollback');
      }
    },
    close: () => own.close(),
  };
}
export type TamperSession = Awaited<ReturnType<typeof createTamperSession>>;

const time = (column: string) => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** Recomputes every hash of a chain from the current events, without signatures. */
export async function recomputeHashes(session: TamperSession, organizationId: string): Promise<void> {
  const rows = await session.run<Link & StoredEvent>(
    `select l.sequence::int, l.event_id as "eventId", ${time('e.occurred_at')} as time, ${canonicalOf('e').sql} as canonical,
            e.appended_in::text as "appendedIn", coalesce(encode(e.seal, 'hex'), '') as seal
     from audit_links l join audit_events e using (event_id) where l.organization_id = $1 order by l.sequence`,
    [organizationId],
  );
  let previous = firstHash(organizationId);
  for (const [index, row] of rows.entries()) {
    const link = { ...row, sequence: index + 1, eventHash: eventHash(row) };
    previous = linkHash(previous, linkRecord(link));
    await session.run(
      `update audit_links set sequence = $2, occurred_at = $3, event_hash = decode($4, 'hex'), hash = decode($5, 'hex')
       where event_id = $1`,
      [row.eventId, index + 1, row.time, link.eventHash, previous],
    );
  }
  await session.run(
    `update audit_checkpoints c set size = least(size, $2::bigint), head = l.hash from audit_links l
     where c.organization_id = $1 and l.organization_id = $1 and l.sequence = least(c.size, $2::bigint)`,
    [organizationId, rows.length],
  );
}

/** Signs with a key that the service does not trust. */
export function createForger() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { n, e } = publicKey.export({ format: 'jwk' });
  const kid = createHash('sha256')
    .update(JSON.stringify({ e, kty: 'RSA', n }))
    .digest('base64url');
  const key = { kty: 'RSA', n, e, kid, alg: 'RS256', use: 'sig' };
  return {
    key,
    sign(typ: string, claims: object, keyId = kid): string {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const text = `${part({ alg: 'RS256', typ, kid: keyId })}.${part(claims)}`;
      return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
    },
  };
}

/** Signs all current checkpoints of a chain with the forger's key. */
export async function signAllCheckpoints(
  session: TamperSession,
  organizationId: string,
  forger: ReturnType<typeof createForger>,
  keyId?: string,
): Promise<void> {
  const rows = await session.run<{ number: number; size: number; head: string; at: string }>(
    `select number::int, size::int, encode(head, 'hex') as head, taken_at as at from audit_checkpoints
     where organization_id = $1 order by number`,
    [organizationId],
  );
  let previous: string | null = null;
  for (const { at, ...row } of rows) {
    const claims = { organizationId, ...row, at, previous };
    const signed = forger.sign('audit-checkpoint+jwt', claims, keyId);
    await session.run(
      `update audit_checkpoints set signed = $3, previous = decode($4, 'hex'), key_id = $5
       where organization_id = $1 and number = $2`,
      [organizationId, row.number, signed, previous, keyId ?? forger.key.kid],
    );
    previous = createHash('sha256').update(signed).digest('hex');
  }
}

/** A session that has run the statement in an open transaction. */
export async function holdOpen(url: string, statement: string): Promise<{ release(): Promise<void> }> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  let ended = false;
  const release = async () => {
    if (ended) return;
    ended = true;
    await client.end();
  };
  after(release);
  await client.query('begin');
  await client.query(statement);
  return { release };
}

/** The database URL of a new role that may only connect and read. */
export async function createReadOnlyRole(t: TestApp): Promise<string> {
  const role = `reader_${new URL(t.databaseUrl).pathname.slice(1)}`;
  await t.sql(`create role ${role} login password 'reader'`);
  await t.sql(`grant select on all tables in schema public to ${role}`);
  // The database is dropped before.
  after(() => execute(new URL('/postgres', t.databaseUrl).href, `drop role ${role}`));
  const url = new URL(t.databaseUrl);
  url.username = role;
  url.password = 'reader';
  return url.href;
}
