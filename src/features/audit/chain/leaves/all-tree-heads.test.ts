/** More checkpoints than the sequencer compares at its start, after the end of a chain that was removed. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { environment, execute, startApp, type TestApp } from '../../../../../test/support/harness.ts';
import { auditLinks, recordEvents } from '../../../../../test/support/scenarios/audit-log.ts';
import { createSigner } from '../../../../adapters/keys/keys.ts';
import { loadConfig } from '../../../../kernel/config/config.ts';
import { createMerkleTree, leafHash } from '../merkle.ts';
import { insertSegments } from '../segments-store.ts';
import { plainCheckpointText, sign, statementHash } from '../statements.ts';
import { findNewestTreeHead, insertTreeHeads } from '../tree-heads-store.ts';

const t = await startApp({ LOG_LEVEL: 'error' });
const leavesAtStart = 50_000;

/** A signed tree with checkpoints of as many organizations. Their chains have no links: only the tree is of interest. */
async function addLargeTree(leaves: number) {
  const { app, clock, databaseUrl } = t;
  const { signingKeys, baseUrl: issuer } = loadConfig(environment(databaseUrl));
  const signer = await createSigner({ ...signingKeys, previousPublicKeys: [], issuer, clock });
  const at = new Date(clock.now()).toISOString();
  const made = Array.from({ length: leaves }, () => {
    const checkpoint = {
      organizationId: app.ids.uuid(),
      number: 1,
      size: 1,
      head: '00'.repeat(32),
      at,
      previous: null,
      records: '',
      firstAppendedIn: '1',
      lastAppendedIn: '1',
    };
    return { checkpoint, hash: leafHash(plainCheckpointText(checkpoint)), proof: '' };
  }).sort((one, other) => (one.hash < other.hash ? -1 : 1));
  await app.db.transaction(async (tx) => {
    const before = await findNewestTreeHead(tx);
    const { root } = createMerkleTree(made.map(({ hash }) => hash));
    const previous = before ? statementHash(before.signed) : null;
    const claims = { number: (before?.number ?? 0) + 1, at, size: leaves, root, previous };
    const signed = await sign(signer, 'treeHead', claims);
    const treeHead = { ...claims, keyId: signer.keyId, signed };
    await insertTreeHeads(tx, [treeHead]);
    await insertSegments(tx, { treeHead, leaves: made });
  });
}

const [victim, idle, active] = [t.app.ids.uuid(), t.app.ids.uuid(), t.app.ids.uuid()];
const grow = async (node: TestApp, organizationId: string) => {
  await recordEvents(node, organizationId, 1);
  t.clock.advance(1_000);
  await node.app.audit.linkAll();
};
for (const organizationId of [victim, victim, idle, idle]) await grow(t, organizationId);
await addLargeTree(leavesAtStart);
const restart = () => startApp({ LOG_LEVEL: 'error' }, t);

const numbersOf = async (organizationId: string) =>
  (
    await t.sql<{ number: number }>(
      'select number::int from audit_segments where organization_id = $1 order by 1',
      [organizationId],
    )
  ).map(({ number }) => number);
const readsOf = async ({ app }: TestApp) =>
  Number(
    /^service_db_query_duration_seconds_count{operation="audit.leaves"} (\d+)$/m.exec(
      await app.metrics.text(),
    )?.[1] ?? 0,
  );
const removeEnd = (organizationId: string) =>
  execute(
    t.databaseUrl,
    `set session_replication_role = replica;
     delete from audit_events where event_id in
       (select event_id from ${auditLinks} l where organization_id = '${organizationId}' and number = 2);
     delete from audit_segments where organization_id = '${organizationId}' and number = 2`,
  );

it('the second verification of an idle chain compares no tree again, and still finds that its end was removed', async () => {
  const node = await restart();
  const findingOf = async (organizationId: string) =>
    (await node.app.audit.verify(organizationId)).finding?.code;
  assert.equal(await findingOf(idle), undefined);
  // The sequencer compares the older part.
  await node.app.audit.linkAll();
  const reads = await readsOf(node);
  assert.ok(reads > 0);
  assert.equal(await findingOf(idle), undefined);
  assert.equal(await readsOf(node), reads);
  await removeEnd(idle);
  assert.equal(await findingOf(idle), 'CHECKPOINT_LOST');
});

it('a verification compares all tree heads after the end of the chain', async () => {
  await removeEnd(victim);
  const node = await restart();
  assert.equal((await node.app.audit.verify(victim)).finding?.code, 'CHAIN_END_MISSING');
});

it('the sequencer compares the older ones in later passes, and then extends no chain that ended before', async () => {
  const node = await restart();
  // The first pass compares the newest tree heads.
  await grow(node, active);
  await grow(node, victim);
  assert.match(node.logs.join(), /NOT INTACT/);
  assert.deepEqual(await numbersOf(victim), [1]);

  const extending = await restart();
  await grow(extending, victim);
  const extended = await numbersOf(victim);
  assert.deepEqual(extended, [1, 2]);
  for (let pass = 0; pass < 2; pass += 1) await grow(extending, victim);
  assert.match(extending.logs.join(), /NOT INTACT/);
  assert.deepEqual(await numbersOf(victim), extended);
  await grow(extending, active);
  assert.equal((await numbersOf(active)).length, 2);
});
