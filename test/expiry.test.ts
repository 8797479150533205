/** The purge deletes expired rows in batches. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startApp } from './support/harness.ts';
import { until } from './support/programs.ts';

const t = await startApp();
const rows = 5_001;
const old = "now() - interval '200 days'";

const home = 'select organization_id from organizations limit 1';

/** Per table, a query for long expired rows; `n` is the row number. */
const tables = {
  used_assertions: `select gen_random_uuid(), n::text, ${old}`,
  used_proofs: `select sha256(n::text::bytea), ${old}`,
  token_revocations: `select gen_random_uuid(), gen_random_uuid(), ${old}, ${old}`,
  used_outside_tokens: `select sha256(n::text::bytea), ${old}`,
  billing_events: `select 'stripe', n::text, 'x', ${old}`,
  billing_sessions: `select n::text, 'portal', 'stripe', (${home}), (${home}), null, null, ${old}, ${old}, null`,
};

it('the purge deletes expired rows in batches and keeps the others', async () => {
  await t.sql('create table taken (name text, n int)');
  await t.sql(`create function note_taken() returns trigger language plpgsql as
    $$ begin insert into taken select tg_table_name, count(*) from gone; return null; end $$`);
  for (const [table, select] of Object.entries(tables)) {
    await t.sql(`insert into ${table} ${select} from generate_series(1, ${rows}) n`);
    const young = select.replaceAll(old, 'now()').replaceAll('n::text', "'young'");
    await t.sql(`insert into ${table} ${young} from generate_series(1, 1) n`);
    await t.sql(`create trigger note_taken after delete on ${table} referencing old table as gone
      for each statement execute function note_taken()`);
  }
  const names = Object.keys(tables).toSorted();
  const left = () =>
    t.sql(
      names.map((name) => `select '${name}' as name, count(*)::int as n from ${name}`).join(' union all '),
    );
  t.app.loops.start();
  await until('all of it to go', async () => (await left()).every(({ n }) => n === 1) || undefined);
  await t.app.loops.stop();
  assert.deepEqual(
    await t.sql(
      'select name, max(n)::int as most, sum(n)::int as sum from taken group by name order by name collate "C"',
    ),
    names.map((name) => ({ name, most: 5_000, sum: rows })),
  );
});
