/** Tampering with an audit log: events recorded through the ledger, and changes that are rolled back after verification. */
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { after } from 'node:test';
import pg from 'pg';
import { createSigner, createStatementReader } from '../../../src/adapters/keys/keys.ts';
import { createPostgres } from '../../../src/adapters/postgres/postgres.ts';
import type { EventType } from '../../../src/contract/events.ts';
import { canonicalOf } from '../../../src/features/audit/chain/canonical-store.ts';
import {
  eventHash,
  firstHash,
  linkHash,
  linkRecord,
  type StoredEvent,
} from '../../../src/features/audit/chain/hashes.ts';
import { leafHash } from '../../../src/features/audit/chain/merkle.ts';
import { checkpointText } from '../../../src/features/audit/chain/statements.ts';
import { createAudit } from '../../../src/features/audit/feature.ts';
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
  userAgent = 'probe "1" — ünï\u0001',
): Promise<void> {
  const { app, clock } = t;
  const ledger = createLedger({ clock, ids: app.ids, listeners: [app.audit.listener] });
  const types: EventType[] = ['token.issued', 'agent.created', 'credential.rotated'];
  const entries = Array.from({ length: events }, (_, index) => ({
    actor: { requestId: app.ids.uuid(), ipAddress: '192.0.2.1', userAgent },
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

/** Runs the statements of an attacker. */
export type Attacker = Pick<TamperSession, 'run'>;

/** An attacker whose changes stay: for what a server answers afterwards. Values become literals, so that statements can be joined. */
export const createAttacker = (t: Pick<TestApp, 'sql'>): Attacker => ({
  async run(text: string, values: unknown[] = []) {
    const literals = values.map((value) =>
      value === null ? 'null' : `'${Array.isArray(value) ? `{${value}}` : value}'`,
    );
    const statement = text.replaceAll(/\$(\d+)/g, (_, index) => literals[Number(index) - 1] as string);
    const isRead = /^\s*select/i.test(text);
    const rows = await t.sql(isRead ? statement : `set session_replication_role = replica; ${statement}`);
    // Times as texts, as the adapter returns them.
    return JSON.parse(JSON.stringify(rows ?? []));
  },
});

/** The links in all segments, as a table for SQL. */
export const auditLinks = `(
  select organization_id, size - octet_length(records) / 56 + place as sequence, number,
         encode(substr(records, 56 * place - 55, 16), 'hex')::uuid as event_id, taken_on as linked_on
  from audit_segments, generate_series(1, octet_length(records) / 56) as place)`;

/** The hexadecimal digits of each link in the records of a segment. */
const recordsOf = (records: string): string[] => records.match(/.{112}/g) ?? [];

const time = (column: string) => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** Recomputes every hash of a chain from the current events, and makes new trees, without signatures. */
export async function recomputeHashes(session: Attacker, organizationId: string): Promise<void> {
  const segments = await session.run<{ number: number; records: string; at: string }>(
    `select number::int, encode(records, 'hex') as records, taken_at as at from audit_segments
     where organization_id = $1 order by number`,
    [organizationId],
  );
  let head = firstHash(organizationId);
  let size = 0;
  for (const { number, records } of segments) {
    const ids = recordsOf(records).map((record) => record.slice(0, 32));
    const rows = await session.run<StoredEvent>(
      `select e.event_id as "eventId", ${time('e.occurred_at')} as time, ${canonicalOf('e').sql} as canonical,
              e.appended_in::text as "appendedIn", coalesce(encode(e.seal, 'hex'), '') as seal
       from unnest($1::uuid[]) with ordinality as l (id, place) join audit_events e on e.event_id = l.id order by place`,
      [ids],
    );
    let stored = '';
    for (const row of rows) {
      size += 1;
      const record = linkRecord({ ...row, sequence: size, eventHash: eventHash(row) });
      head = linkHash(head, record);
      stored += record.slice(16);
    }
    await session.run(
      `update audit_segments set size = $3, head = decode($4, 'hex'), records = decode($5, 'hex')
       where organization_id = $1 and number = $2`,
      [organizationId, number, size, head, stored],
    );
  }
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

/** Signs all current checkpoints of a chain with the forger's key: each in a tree of its own, under the number it has. */
export async function signAllCheckpoints(
  session: Attacker,
  organizationId: string,
  forger: ReturnType<typeof createForger>,
  keyId?: string,
): Promise<void> {
  const rows = await session.run<{ number: number; size: number; head: string; at: string; tree: number }>(
    `select number::int, size::int, encode(head, 'hex') as head, taken_at as at, tree::int from audit_segments
     where organization_id = $1 order by number`,
    [organizationId],
  );
  let previous: string | null = null;
  for (const { tree, ...row } of rows) {
    const root = leafHash(checkpointText({ organizationId, ...row, previous }));
    const claims = { number: tree, at: row.at, size: 1, root, previous: null };
    await session.run(
      `update audit_segments set previous = decode($3, 'hex'), leaf_index = 0, proof = ''
       where organization_id = $1 and number = $2`,
      [organizationId, row.number, previous],
    );
    await session.run(
      `update audit_tree_heads set size = 1, root = decode($2, 'hex'), previous = null, signed = $3, key_id = $4
       where number = $1`,
      [tree, root, forger.sign('audit-tree-head+jwt', claims, keyId), keyId ?? forger.key.kid],
    );
    previous = root;
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
