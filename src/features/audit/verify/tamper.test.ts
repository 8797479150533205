/** An attacker who can write the database: every change is found, in many places and many ways, and nothing else. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { startApp } from '../../../../test/support/harness.ts';
import { until } from '../../../../test/support/programs.ts';
import { repetitions } from '../../../../test/support/repetitions.ts';
import {
  auditLinks,
  canonical,
  createForger,
  createTamperSession,
  recomputeHashes,
  recordEvents,
  signAllCheckpoints,
  storeTexts,
} from '../../../../test/support/scenarios/audit-log.ts';

/** More with AUDIT_TEST_PLACES=100: the first and the last come first, then those under each checkpoint. */
const places = Number(process.env.AUDIT_TEST_PLACES || repetitions(6, 15));
const t = await startApp();
const organizationId = t.app.ids.uuid();
const otherId = t.app.ids.uuid();
const perPass = [1, 2, 40, 17, 1, 3, 30, 26];
for (const [pass, events] of perPass.entries()) {
  await recordEvents(t, organizationId, events);
  // The older half of the log is of an earlier version.
  if (pass < perPass.length / 2) await storeTexts(t, organizationId);
  await recordEvents(t, otherId, 2);
  t.clock.advance(1_000);
  await t.app.audit.linkAll();
}
// While a transaction is open on the server, later events are processed again, and would be linked again.
await until('all events are settled', async () => {
  await recordEvents(t, t.app.ids.uuid(), 1);
  await t.app.audit.linkAll();
  const [row] = await t.sql<{ settled: boolean }>(
    `select not exists (select from audit_events, audit_progress
                        where organization_id = $1 and appended_in >= settled_before) as settled`,
    [organizationId],
  );
  return row?.settled || undefined;
});
const size = perPass.reduce((sum, events) => sum + events, 0);
const checkpoints = perPass.length;

const tamperSession = await createTamperSession(t);
after(() => tamperSession.close());
// A running process has seen the log before the attack.
const intact = await tamperSession.verifyAfter(organizationId, async () => {}, 'running');

/** The same random places in every run. */
let seed = 42;
const random = (below: number): number => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((seed / 2_147_483_648) * below);
};
const edges = [
  ...new Set([
    ...[1, size],
    ...perPass.flatMap((events, pass) => {
      const before = perPass.slice(0, pass).reduce((sum, earlier) => sum + earlier, 0);
      return [before + 1, before + events];
    }),
  ]),
];
let attempt = 0;
const anySequence = () => edges[attempt - 1] ?? 1 + random(size);
const anyCheckpoint = () => (attempt <= checkpoints ? attempt : 1 + random(checkpoints));

type Tampering = () => Promise<unknown>;

const finds = (what: string, tamper: Tampering, times = places, by?: 'running') =>
  it(`false: ${what}`, async () => {
    for (attempt = 1; attempt <= times; attempt += 1) {
      // The attacker's own transaction stays open, and another that ends in between may hide it from a snapshot.
      const found = async () => (await tamperSession.verifyAfter(organizationId, tamper, by)).finding;
      await until(`attempt ${attempt}`, found);
    }
  });

const eventAt = async (sequence: number): Promise<string> => {
  const [row] = await tamperSession.run<{ id: string }>(
    `select event_id as id from ${auditLinks} l where organization_id = $1 and sequence = $2`,
    [organizationId, sequence],
  );
  return row?.id as string;
};

const editEvent = (assignment: string) => async () =>
  tamperSession.run(`update audit_events set ${assignment} where event_id = $1`, [
    await eventAt(anySequence()),
  ]);

/** The segment with this link, and the place of the first byte of its record. */
const segmentOf = async (sequence: number): Promise<{ number: number; start: number }> => {
  const [row] = await tamperSession.run<{ number: number; start: number }>(
    `select number::int, (56 * (octet_length(records) / 56 - size + $2::bigint - 1) + 1)::int as start from audit_segments
     where organization_id = $1 and size >= $2::bigint order by size limit 1`,
    [organizationId, sequence],
  );
  return row as { number: number; start: number };
};

/** `replacement` is SQL for the whole record of a link, `record`. */
const replaceLink = async (sequence: number, replacement: string) => {
  const { number, start } = await segmentOf(sequence);
  await tamperSession.run(
    `update audit_segments set records = (
       select overlay(records placing ${replacement} from $3::int for 56)
       from (select substr(records, $3::int, 56) as record) as found)
     where organization_id = $1 and number = $2`,
    [organizationId, number, start],
  );
};
const editLink = (replacement: string) => () => replaceLink(anySequence(), replacement);

const editSegment = (assignment: string) => () =>
  tamperSession.run(`update audit_segments set ${assignment} where organization_id = $1 and number = $2`, [
    organizationId,
    anyCheckpoint(),
  ]);

const editTreeHead = (assignment: string) => () =>
  tamperSession.run(
    `update audit_tree_heads set ${assignment}
     where number = (select tree from audit_segments where organization_id = $1 and number = $2)`,
    [organizationId, anyCheckpoint()],
  );

const remove = async (sequence: number, what: { event?: boolean; link?: boolean }) => {
  const id = await eventAt(sequence);
  if (what.event) await tamperSession.run('delete from audit_events where event_id = $1', [id]);
  if (what.link) await replaceLink(sequence, "''::bytea");
};

const columns =
  'event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at, canonical, appended_in, seal';

/** A copy of an event with some columns changed. */
const insertCopy = async (changes: Record<string, string>) => {
  const values = columns.split(', ').map((column) => changes[column] ?? column);
  await tamperSession.run(
    `insert into audit_events (${columns}) select ${values.join(', ')} from audit_events where event_id = $1`,
    [await eventAt(anySequence())],
  );
};

describe('an intact log', () => {
  it('true: all events, of this organization only', () => {
    assert.deepEqual(
      { checked: intact.checked, finding: intact.finding },
      { checked: size, finding: undefined },
    );
  });
});

describe('an edited event', () => {
  const edits: Record<string, string> = {
    event_id: 'event_id = gen_random_uuid()',
    organization_id: `organization_id = '${otherId}'`,
    agent_id: 'agent_id = gen_random_uuid()',
    action: "action = action || 'x'",
    outcome: "outcome = case outcome when 'success' then 'failure' else 'success' end",
    ip_address: "ip_address = '192.0.2.2'",
    user_agent: "user_agent = user_agent || ' '",
    metadata: `metadata = replace(metadata::text, '3600', '3601')::json`,
    'metadata (one more)': `metadata = (metadata::jsonb || '{"more": null}')::json`,
    'metadata (other order)': `metadata = metadata::jsonb::json`,
    'occurred_at, by a millisecond': "occurred_at = occurred_at + interval '1 millisecond'",
    'occurred_at, by a microsecond': "occurred_at = occurred_at + interval '1 microsecond'",
    canonical: `canonical = replace(${canonical}, '3600', '3601')`,
    'canonical, to something else': "canonical = 'gone' || chr(10) || chr(30)",
    'canonical, to a number': "canonical = '17'",
    'canonical and column alike': `canonical = replace(${canonical}, '192.0.2.1', '192.0.2.9'), ip_address = '192.0.2.9'`,
    appended_in: "appended_in = '3'",
    'appended_in, to the future': "appended_in = '999999999'",
    seal: "seal = decode('00', 'hex')",
    'seal, to none': 'seal = null',
  };
  for (const [what, assignment] of Object.entries(edits)) finds(what, editEvent(assignment));
  finds('time, in text, column and link alike', async () => {
    const sequence = anySequence();
    const id = await eventAt(sequence);
    const later = `occurred_at + interval '1 second'`;
    await tamperSession.run(
      `update audit_events set occurred_at = ${later}, canonical = replace(${canonical},
         to_char(occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_char(${later}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
       where event_id = $1`,
      [id],
    );
    const [row] = await tamperSession.run<{ time: string }>(
      `select encode(timestamptz_send(occurred_at), 'hex') as time from audit_events where event_id = $1`,
      [id],
    );
    await replaceLink(sequence, `overlay(record placing '\\x${row?.time}'::bytea from 17)`);
  });
});

describe('something removed', () => {
  for (const [what, parts] of Object.entries({
    'the event': { event: true },
    'the link': { link: true },
    'event and link': { event: true, link: true },
  })) {
    finds(`${what}, first`, () => remove(1, parts), 3);
    finds(`${what}, last`, () => remove(size, parts), 3);
    finds(`${what}, anywhere`, () => remove(anySequence(), parts));
  }
  finds('the tail, events and links', async () => {
    const from = anySequence();
    await tamperSession.run(
      `delete from audit_events where event_id in
         (select event_id from ${auditLinks} l where organization_id = $1 and sequence >= $2)`,
      [organizationId, from],
    );
    const { number, start } = await segmentOf(from);
    await tamperSession.run(
      `update audit_segments set records = case number when $2 then substr(records, 1, $3::int - 1) else '' end
       where organization_id = $1 and number >= $2`,
      [organizationId, number, start],
    );
  });
  finds(
    'the tail with its segments and tree heads, in a process that has seen them',
    async () => {
      const number = anyCheckpoint();
      const values = [organizationId, number];
      await tamperSession.run(
        `delete from audit_events where event_id in
           (select event_id from ${auditLinks} l where organization_id = $1 and number >= $2)`,
        values,
      );
      await tamperSession.run(
        `delete from audit_tree_heads where number >=
           (select tree from audit_segments where organization_id = $1 and number = $2)`,
        values,
      );
      await tamperSession.run(
        'delete from audit_segments where organization_id = $1 and number >= $2',
        values,
      );
    },
    places,
    'running',
  );
  finds(
    'all evidence',
    async () => {
      await tamperSession.run('delete from audit_segments where organization_id = $1', [organizationId]);
    },
    3,
  );
});

describe('something added', () => {
  const forged = `replace(${canonical}, event_id::text, '00000000-0000-7000-8000-000000000001')`;
  const id = `'00000000-0000-7000-8000-000000000001'`;
  finds('a copy under another id', () => insertCopy({ event_id: 'gen_random_uuid()' }));
  finds('a copy at another time', () => insertCopy({ occurred_at: "occurred_at + interval '1 second'" }));
  finds('a well-formed event, without a seal', () =>
    insertCopy({ event_id: id, canonical: forged, seal: 'null', appended_in: 'pg_current_xact_id()' }),
  );
  finds("a well-formed event, with another's seal", () =>
    insertCopy({ event_id: id, canonical: forged, appended_in: 'pg_current_xact_id()' }),
  );
  finds('a well-formed event of an old transaction', () =>
    insertCopy({ event_id: id, canonical: forged, appended_in: "'5'" }),
  );
  finds('an event of another organization', () =>
    tamperSession.run(
      `with chosen as (select * from audit_events where organization_id = $1 offset $2 limit 1),
            moved as (delete from audit_events where event_id in (select event_id from chosen))
       insert into audit_events (${columns})
       select ${columns
         .replace('event_id', 'gen_random_uuid()')
         .replace('organization_id', `'${organizationId}'`)
         .replace('appended_in', 'pg_current_xact_id()')} from chosen`,
      [otherId, random(2 * checkpoints)],
    ),
  );
  finds('a segment twice', () =>
    tamperSession.run(
      `insert into audit_segments (organization_id, number, size, taken_at, taken_on, head, previous, records, tree, leaf_index, proof)
       select organization_id, number, size, taken_at, taken_on + 1, head, previous, records, tree, leaf_index, proof
       from audit_segments where organization_id = $1 and number = $2`,
      [organizationId, anyCheckpoint()],
    ),
  );
});

describe('something moved', () => {
  const swap = async (table: string, column: string) => {
    const first = anySequence();
    const second = 1 + ((first + random(size - 1)) % size);
    const ids = [await eventAt(first), await eventAt(second)];
    if (column === 'canonical')
      await tamperSession.run(
        `update audit_events set canonical = ${canonical} where event_id in ($1, $2)`,
        ids,
      );
    await tamperSession.run(
      `update ${table} a set ${column} = b.${column} from ${table} b
       where (a.event_id, b.event_id) in (($1::uuid, $2::uuid), ($2::uuid, $1::uuid))`,
      ids,
    );
  };
  finds('two texts swapped', () => swap('audit_events', 'canonical'));
  finds('two agents swapped', () => swap('audit_events', 'agent_id'));
  finds('two links swapped', async () => {
    const first = anySequence();
    const second = 1 + ((first + random(size - 1)) % size);
    const recordOf = async (sequence: number) => {
      const { number, start } = await segmentOf(sequence);
      const [row] = await tamperSession.run<{ record: string }>(
        `select encode(substr(records, $3::int, 56), 'hex') as record from audit_segments
         where organization_id = $1 and number = $2`,
        [organizationId, number, start],
      );
      return `'\\x${row?.record}'::bytea`;
    };
    const records = [await recordOf(first), await recordOf(second)] as const;
    await replaceLink(first, records[1]);
    await replaceLink(second, records[0]);
  });
  finds('two segments swapped', () => {
    const first = anyCheckpoint();
    const second = 1 + (first % checkpoints);
    return tamperSession.run(
      `update audit_segments a set records = b.records from audit_segments b
       where a.organization_id = $1 and b.organization_id = $1
         and (a.number, b.number) in (($2::bigint, $3::bigint), ($3::bigint, $2::bigint))`,
      [organizationId, first, second],
    );
  });
  for (const [what, replacement] of Object.entries({
    'another event': 'overlay(record placing uuid_send(gen_random_uuid()) from 1)',
    'another time': 'overlay(record placing int8send(5) from 17)',
    'another hash': 'overlay(record placing sha256(record) from 25)',
    twice: 'record || record',
    'one byte less': 'substr(record, 2)',
  }))
    finds(`a link: ${what}`, editLink(replacement));
});

describe('a chain with new hashes', () => {
  const tamper = async () => {
    await tamperSession.run(
      `update audit_events set action = 'nothing.happened', canonical = replace(${canonical}, '"action":"' || action, '"action":"nothing.happened')
       where event_id = $1`,
      [await eventAt(anySequence())],
    );
    await recomputeHashes(tamperSession, organizationId);
  };
  finds('with its old signatures', tamper);
  finds('without the event, and shorter', async () => {
    await remove(anySequence(), { event: true, link: true });
    await recomputeHashes(tamperSession, organizationId);
  });
  finds(
    'signed by the attacker, with our key id',
    async () => {
      await tamper();
      const [row] = await tamperSession.run<{ id: string }>('select key_id as id from audit_keys');
      await signAllCheckpoints(tamperSession, organizationId, createForger(), row?.id);
    },
    5,
  );
  finds(
    'signed by the attacker, whose key is inserted',
    async () => {
      await tamper();
      const forger = createForger();
      await signAllCheckpoints(tamperSession, organizationId, forger);
      const statement = { number: 2, key: forger.key, at: new Date(0).toISOString(), previous: null };
      await tamperSession.run('insert into audit_keys values (2, $1, $2, $3)', [
        forger.key.kid,
        statement.at,
        forger.sign('audit-key+jwt', statement),
      ]);
    },
    5,
  );
  finds(
    'covered by an anchor of the attacker',
    async () => {
      await tamperSession.run('delete from audit_segments where organization_id = $1 and number = 1', [
        organizationId,
      ]);
      const forger = createForger();
      const claims = {
        organizationId,
        number: 1,
        at: new Date(0).toISOString(),
        droppedThrough: '2999-01-01',
      };
      await tamperSession.run('insert into audit_anchors values ($1, 1, $2, $3)', [
        organizationId,
        claims.at,
        forger.sign('audit-anchor+jwt', claims),
      ]);
    },
    5,
  );
});

describe('segments, tree heads and keys', () => {
  const removeSegment = (number: number) =>
    tamperSession.run('delete from audit_segments where organization_id = $1 and number = $2', [
      organizationId,
      number,
    ]);
  finds('the first segment removed', () => removeSegment(1), 3);
  finds('the last segment removed', () => removeSegment(checkpoints), 3);
  finds('a segment removed', () => removeSegment(anyCheckpoint()));
  for (const assignment of [
    'number = number + 1000000',
    'size = size + 1',
    'head = sha256(head)',
    'previous = sha256(head)',
    "taken_at = taken_at + interval '1 second'",
    'taken_on = taken_on + 1',
    `organization_id = '00000000-0000-7000-8000-000000000002'`,
    'tree = tree + 1',
    'tree = tree + 1000',
    'tree = null',
    'leaf_index = 1 - leaf_index',
    'leaf_index = leaf_index + 2',
    'leaf_index = null',
    'proof = sha256(proof)',
    "proof = ''",
    'proof = proof || sha256(proof)',
    "signed = 'nothing', tree = null",
  ])
    finds(`a segment edited: ${assignment}`, editSegment(assignment));
  finds("with another pass's tree and proof", async () => {
    const number = anyCheckpoint();
    await tamperSession.run(
      `update audit_segments a set tree = b.tree, leaf_index = b.leaf_index, proof = b.proof from audit_segments b
       where a.organization_id = $1 and b.organization_id = $1 and a.number = $2 and b.number = $3`,
      [organizationId, number, 1 + (number % checkpoints)],
    );
  });
  finds('the tree head removed', () =>
    tamperSession.run(
      `delete from audit_tree_heads where number = (select tree from audit_segments where organization_id = $1 and number = $2)`,
      [organizationId, anyCheckpoint()],
    ),
  );
  for (const assignment of [
    'number = number + 1000000',
    'size = size + 1',
    "taken_at = taken_at + interval '1 second', signed = replace(signed, '.', '.e')",
    'taken_on = taken_on + 1',
    "key_id = 'another'",
    "signed = replace(signed, '.', '.e')",
    "signed = 'nothing'",
  ])
    finds(`a tree head edited: ${assignment}`, editTreeHead(assignment));
  finds('the key removed', () => tamperSession.run('delete from audit_keys'), 3);
  for (const assignment of [
    'number = 2',
    "key_id = 'another'",
    "taken_at = now() + interval '1 day'",
    "signed = 'nothing'",
  ])
    finds(`the key edited: ${assignment}`, () => tamperSession.run(`update audit_keys set ${assignment}`), 3);
});

describe('afterwards', () => {
  it('true: the intact log still verifies', async () => {
    const { checked, finding } = await tamperSession.verifyAfter(organizationId, async () => {});
    assert.deepEqual({ checked, finding }, { checked: size, finding: undefined });
  });
});
