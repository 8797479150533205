/** Nodes with different keys of one published set share a database: each links and signs, and none raises the alarm. */
import assert from 'node:assert/strict';
import { createPublicKey, randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { verifyExport } from '../../../../../sdk/typescript/src/audit/verify-export.ts';
import {
  createDatabase,
  createTestClock,
  environment,
  execute,
} from '../../../../../test/support/harness.ts';
import { repetitions } from '../../../../../test/support/repetitions.ts';
import {
  auditLinks,
  canonical,
  createForger,
  recordEvents,
} from '../../../../../test/support/scenarios/audit-log.ts';
import { createStatementReader, describePublicKey } from '../../../../adapters/keys/keys.ts';
import { createApp } from '../../../../app.ts';
import { loadConfig } from '../../../../kernel/config/config.ts';
import { generateKeyPair } from '../../../../kernel/config/keypair.ts';
import { createLog } from '../../../../kernel/observability/log.ts';
import { sealTag } from '../hashes.ts';

type Pair = ReturnType<typeof generateKeyPair>;
const { JWT_PRIVATE_KEY, JWT_PUBLIC_KEY } = environment('');
/** The first key of the log in every test database. */
const old: Pair = { privatePem: JWT_PRIVATE_KEY, publicPem: JWT_PUBLIC_KEY };
/** Of three kinds: RS256, then ES256, then EdDSA. */
const [next, third] = [generateKeyPair('p-256'), generateKeyPair('ed25519')];
const publicKeyOf = ({ publicPem }: Pair) => describePublicKey(createPublicKey(publicPem));
const keyIdOf = async (pair: Pair) => (await publicKeyOf(pair)).kid;

/** A database, and nodes on it: each with a key pair, and the further keys that it lists. */
async function createCluster() {
  const databaseUrl = await createDatabase();
  const clock = createTestClock();
  /** A process that has not added its key yet. */
  const open = async (own: Pair, ...further: Pair[]) => {
    const alarms: string[] = [];
    const config = loadConfig(
      environment(databaseUrl, {
        JWT_PRIVATE_KEY: own.privatePem,
        JWT_PUBLIC_KEY: own.publicPem,
        ...(further.length > 0 && {
          JWT_PREVIOUS_PUBLIC_KEYS: further.map(({ publicPem }) => publicPem).join(''),
        }),
      }),
    );
    const log = createLog({ level: 'error', destination: { write: (line) => void alarms.push(line) } });
    const app = await createApp({ config, log, clock });
    after(() => app.close());
    return { app, alarms };
  };
  const start = async (...keys: [Pair, ...Pair[]]) => {
    const { app, alarms } = await open(...keys);
    await app.prepare();
    return {
      alarms,
      audit: app.audit,
      record: (organizationId: string, events: number) =>
        recordEvents({ app, clock }, organizationId, events),
      problemOf: async (organizationId: string) => (await app.audit.verify(organizationId)).finding?.problem,
      async gauge() {
        await app.audit.watch();
        return /^service_audit_chain_integrity (\d)$/m.exec(await app.metrics.text())?.[1];
      },
      async export() {
        const lines: string[] = [];
        await app.audit.export({ write: async ({ texts }) => void lines.push(...texts) });
        return lines;
      },
    };
  };
  const sql = <Row>(text: string, values: unknown[] = []) => execute<Row>(databaseUrl, text, values);
  return {
    clock,
    sql,
    open,
    start,
    asIntruder: (text: string) => sql(`set session_replication_role = replica; ${text}`),
    keyIds: async () =>
      (await sql<{ id: string }>('select key_id as id from audit_keys order by number')).map(({ id }) => id),
    /** Linked events, by the tags of their seals and by the keys that signed the checkpoints. */
    async linkedBy(organizationId: string) {
      const seals = await sql<{ tag: string }>(
        `select distinct encode(substr(e.seal, 1, 4), 'hex') as tag from audit_events e join ${auditLinks} l using (event_id)
         where e.organization_id = $1`,
        [organizationId],
      );
      const signers = await sql<{ id: string }>(
        `select distinct h.key_id as id from audit_segments s join audit_tree_heads h on h.number = s.tree
         where organization_id = $1`,
        [organizationId],
      );
      return { tags: seals.map(({ tag }) => tag).sort(), signers: signers.map(({ id }) => id).sort() };
    },
  };
}

const verifyWith = async (pair: Pair, lines: readonly string[]) =>
  verifyExport(
    (async function* () {
      yield* lines;
    })(),
    { roots: [await publicKeyOf(pair)], read: createStatementReader() },
  );

/** A copy of an event of the organization with a new id and a forged seal that has this tag. */
const forgedRow = (organizationId: string, tag: string): string => {
  const id = randomUUID();
  return `insert into audit_events (event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata,
                                    occurred_at, canonical, seal)
    select '${id}', organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at,
           replace(${canonical}, event_id::text, '${id}'), decode('${tag}${'ab'.repeat(16)}', 'hex')
    from audit_events where organization_id = '${organizationId}' limit 1`;
};

describe('rolling rotation of the signing keys', () => {
  const pairs = [
    ['RSA and P-256', old, next],
    ['P-256 and Ed25519', next, third],
    ['Ed25519 and RSA', third, generateKeyPair()],
    ['P-256 and P-256', next, generateKeyPair('p-256')],
    ['Ed25519 and Ed25519', third, generateKeyPair('ed25519')],
  ] as const;
  for (const [kinds, former, following] of pairs.slice(0, repetitions(2, pairs.length)))
    it(`true on two nodes with different keys, ${kinds}: both seal, link and sign, and all seals are checked`, async () => {
      const cluster = await createCluster();
      const organizationId = randomUUID();
      if (former !== old) await cluster.start(former, old);
      const first = await cluster.start(former, following);
      await first.record(organizationId, 3);
      const second = await cluster.start(following, former);
      // Longer than the hour in which seals of an earlier key are accepted without a check.
      cluster.clock.advance(3_700_000);
      for (let turn = 0; turn < 3; turn += 1)
        for (const linking of [first, second]) {
          await first.record(organizationId, 2);
          await second.record(organizationId, 2);
          await linking.audit.linkAll();
          for (const node of [first, second]) {
            assert.equal(await node.problemOf(organizationId), undefined);
            assert.equal(await node.gauge(), '1');
          }
        }
      const ids = await Promise.all([former, following].map(keyIdOf));
      assert.deepEqual(await cluster.linkedBy(organizationId), {
        tags: ids.map(sealTag).sort(),
        signers: ids.toSorted(),
      });
      assert.equal((await first.audit.verify(organizationId)).checked, 27);
      for (const change of ["update audit_shared_seals set signed = ''", 'delete from audit_shared_seals'])
        await assert.rejects(cluster.sql(change), /append-only/);

      // Both exports verify for an auditor who has the newest key only.
      for (const node of [first, second]) {
        const { finding, statement } = await verifyWith(following, await node.export());
        assert.deepEqual([finding, statement?.events], [undefined, 27]);
      }
      assert.deepEqual([...first.alarms, ...second.alarms], []);
    });

  it('true through restarts in any order: each key is added once, and a return to the old key adds nothing', async () => {
    const cluster = await createCluster();
    const organizationId = randomUUID();
    const nodes = [
      await cluster.start(old),
      await cluster.start(old, next),
      await cluster.start(next, old),
      await cluster.start(old, next),
      await cluster.start(next, old, next),
    ];
    for (const node of nodes.slice(1)) {
      await node.record(organizationId, 2);
      assert.equal(await node.problemOf(organizationId), undefined);
    }
    for (const node of nodes.slice(1)) assert.deepEqual([await node.gauge(), node.alarms], ['1', []]);
    assert.deepEqual(await cluster.keyIds(), await Promise.all([old, next].map(keyIdOf)));
  });

  it('true after the old key is retired, and through the next rotation', async () => {
    const cluster = await createCluster();
    const organizationId = randomUUID();
    const steps = [[old], [old, next], [next, old], [next], [next, third], [third, next], [third]] as const;
    for (const [own, ...further] of steps) {
      const node = await cluster.start(own, ...further);
      await node.record(organizationId, 2);
      assert.equal(await node.problemOf(organizationId), undefined);
      // The next node checks and links the event that this one leaves.
      await node.record(organizationId, 1);
      cluster.clock.advance(7_200_000);
      assert.deepEqual(node.alarms, []);
    }
    const last = await cluster.start(third);
    assert.equal((await last.audit.verify(organizationId)).checked, 3 * steps.length);
    const { finding } = await verifyWith(third, await last.export());
    assert.equal(finding, undefined);
  });

  for (const [title, victim, forged] of [
    ['the node with the new key', 1, 0],
    ['the node with the old key', 0, 1],
  ] as const)
    it(`false: ${title} does not link a row with a forged seal of the other key`, async () => {
      const cluster = await createCluster();
      const organizationId = randomUUID();
      const nodes = [await cluster.start(old, next), await cluster.start(next, old)];
      for (const node of nodes) await node.record(organizationId, 2);
      const linking = nodes[victim] as (typeof nodes)[number];
      assert.equal(await linking.problemOf(organizationId), undefined);
      const tag = sealTag(await keyIdOf([old, next][forged] as Pair));
      await cluster.asIntruder(forgedRow(organizationId, tag));
      assert.match((await linking.problemOf(organizationId)) ?? '', /not recorded by this service/);
      assert.equal(await linking.gauge(), '0');
    });

  it('false: a seal that an attacker shares in the name of the other key is ignored', async () => {
    const cluster = await createCluster();
    const organizationId = randomUUID();
    const first = await cluster.start(old, next);
    await first.record(organizationId, 1);
    await first.audit.linkAll();
    await cluster.asIntruder('delete from audit_shared_seals');
    const oldId = await keyIdOf(old);
    const recipient = await keyIdOf(next);
    const signed = createForger().sign(
      'audit-seal+jwt',
      { recipient, at: new Date(0).toISOString(), sealKey: 'x' },
      oldId,
    );
    await cluster.sql('insert into audit_shared_seals (key_id, recipient, signed) values ($1, $2, $3)', [
      oldId,
      recipient,
      signed,
    ]);
    const second = await cluster.start(next, old);
    cluster.clock.advance(3_700_000);
    await cluster.asIntruder(forgedRow(organizationId, sealTag(oldId)));
    assert.match((await second.problemOf(organizationId)) ?? '', /not recorded by this service/);
    // The node with the old key shares it again at its next start.
    await cluster.start(old, next);
    const shared = await cluster.sql('select from audit_shared_seals where key_id = $1', [oldId]);
    assert.equal(shared.length, 2);
  });

  for (const [title, own, further, pattern] of [
    ['a key that this node does not list takes over', third, [old], /is signed by no trusted key/],
    ['a key that it lists takes over without listing its own', next, [], /does not list ours/],
  ] as const)
    it(`false: ${title}`, async () => {
      const cluster = await createCluster();
      const organizationId = randomUUID();
      const first = await cluster.start(old, next);
      await first.record(organizationId, 2);
      await first.audit.linkAll();
      assert.equal(await first.gauge(), '1');
      const other = await cluster.start(own, ...further);
      await other.record(organizationId, 2);
      await first.audit.linkAll();
      assert.match(first.alarms.join(), pattern);
      assert.notEqual(await first.problemOf(organizationId), undefined);
      assert.equal(await first.audit.otherKey(), await keyIdOf(own));
    });

  it('false: a restart of the old key after the shared seal was deleted; the next start of the new key shares it again', async () => {
    const cluster = await createCluster();
    const organizationId = randomUUID();
    await cluster.start(old, next);
    const second = await cluster.start(next, old);
    const before = await cluster.keyIds();
    await cluster.asIntruder('delete from audit_shared_seals');
    const first = await cluster.start(old, next);
    await second.record(organizationId, 1);
    await first.audit.linkAll();
    // It could not check the events of the new key.
    assert.match(first.alarms.join(), /does not list ours/);
    assert.deepEqual(await cluster.keyIds(), before);
    await cluster.start(next, old);
    assert.equal(await first.problemOf(organizationId), undefined);
    assert.equal(await first.gauge(), '1');
  });

  it('false: a restart of the new key after the shared seal was deleted does not accept the old key unchecked', async () => {
    const cluster = await createCluster();
    const organizationId = randomUUID();
    const first = await cluster.start(old, next);
    await first.record(organizationId, 2);
    await cluster.start(next, old);
    await cluster.asIntruder('delete from audit_shared_seals');
    await cluster.asIntruder(forgedRow(organizationId, sealTag(await keyIdOf(old))));
    const second = await cluster.start(next, old);
    await second.audit.linkAll();
    assert.match(second.alarms.join(), /was removed from audit_shared_seals/);
    assert.notEqual(await second.problemOf(organizationId), undefined);
    // The node with the old key shares its seal again at its next start; the row is still not linked.
    await cluster.start(old, next);
    assert.match((await second.problemOf(organizationId)) ?? '', /not recorded by this service/);
  });

  it('an hour after the switch, events of a retired key are not linked, though their seals could be checked', async () => {
    const cluster = await createCluster();
    const organizationId = randomUUID();
    const first = await cluster.start(old, next);
    const second = await cluster.start(next);
    await first.record(organizationId, 1);
    assert.equal(await second.problemOf(organizationId), undefined);
    cluster.clock.advance(3_700_000);
    await first.record(organizationId, 1);
    assert.match((await second.problemOf(organizationId)) ?? '', /not recorded by this service/);
  });
});

describe('otherKey', () => {
  it('is undefined for every added key of the published set, and the newest key for any other', async () => {
    const cluster = await createCluster();
    const first = await cluster.start(old, next);
    const { app: newcomer } = await cluster.open(next, old);
    assert.equal(await newcomer.audit.otherKey(), await keyIdOf(old));
    await newcomer.prepare({ takeOver: false });
    assert.deepEqual(await cluster.keyIds(), [await keyIdOf(old)]);
    await newcomer.prepare();
    for (const { audit } of [first, newcomer]) assert.equal(await audit.otherKey(), undefined);
    const { app: alone } = await cluster.open(old);
    assert.equal(await alone.audit.otherKey(), await keyIdOf(next));
  });
});
