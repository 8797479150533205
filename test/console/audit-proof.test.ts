/** The verification of the console, on the answers of a real server: an intact log, and every way to change one. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { createAlteration } from '../../console/src/pages/audit/proof/demonstration.ts';
import type { ChainPage, Evidence, ShownEvent } from '../../console/src/pages/audit/proof/evidence.ts';
import { type VerificationOptions, verifyLog } from '../../console/src/pages/audit/proof/verify.ts';
import { createSigner } from '../../src/adapters/keys/keys.ts';
import { createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/kernel/config/config.ts';
import { createLog } from '../../src/kernel/observability/log.ts';
import { environment, startApp, type TestApp } from '../support/harness.ts';
import {
  auditLinks,
  canonical,
  createAttacker,
  createForger,
  recomputeHashes,
  recordEvents,
  signAllCheckpoints,
  storeTexts,
} from '../support/scenarios/audit-log.ts';

const dayMs = 86_400_000;
const t = await startApp({ MULTI_TENANT: 'true' });
let operator = await t.token();
const organizationId = t.app.ids.uuid();
const otherId = t.app.ids.uuid();
const perPass = [1, 2, 40, 17, 1, 30];
for (const [pass, events] of perPass.entries()) {
  await recordEvents(t, organizationId, events);
  if (pass < 2) await storeTexts(t, organizationId);
  await recordEvents(t, otherId, 2);
  t.clock.advance(1_000);
  await t.app.audit.linkAll();
}
const size = perPass.reduce((sum, events) => sum + events, 0);

const read = async (path: string, app: TestApp = t, token = operator) => {
  const answer = await app.call('GET', path, { token });
  if (answer.status !== 200) throw Object.assign(new Error(answer.text), { details: answer.json.details });
  return answer.json;
};
const iso = (name: string, time: number | undefined) =>
  time === undefined ? '' : `&${name}=${new Date(time).toISOString()}`;

/** As the worker of the console asks for it. */
const evidenceOf = (organization: string, app: TestApp = t): Evidence => ({
  chain: (after, limit) =>
    read(
      `/api/v1/audit/chain?organizationId=${organization}&limit=${limit}${after === undefined ? '' : `&after=${after}`}`,
      app,
    ),
  keys: async () => (await read('/api/v1/audit/keys?limit=200', app)).data,
  publishedKeys: async () => (await read('/.well-known/jwks.json', app)).keys,
  async listed({ from, to }, limit) {
    const query = `organizationId=${organization}&limit=${limit}${iso('fromDate', from)}${iso('toDate', to)}`;
    const { total, data } = await read(`/api/v1/audit?${query}`, app);
    return { total, events: data };
  },
});

const verify = (changes: Partial<VerificationOptions> = {}, organization = organizationId) =>
  verifyLog({ evidence: evidenceOf(organization), now: t.clock.now, ...changes });

async function problem(changes: Partial<VerificationOptions> = {}) {
  const verdict = await verify(changes);
  return verdict.status === 'broken' ? verdict.finding : undefined;
}

const tables = ['audit_events', 'audit_segments', 'audit_tree_heads', 'audit_keys', 'audit_anchors'];
const session = createAttacker(t);
const asAttacker = (statements: string) => session.run(statements);
for (const table of tables) await t.sql(`create table kept_${table} as select * from ${table}`);
const restore = () =>
  asAttacker(
    tables.map((table) => `delete from ${table}; insert into ${table} select * from kept_${table};`).join(''),
  );

const eventAt = (sequence: number) =>
  `(select event_id from ${auditLinks} l where organization_id = '${organizationId}' and sequence = ${sequence})`;
const editEvent = (assignment: string, sequence = 30) =>
  asAttacker(`update audit_events set ${assignment} where event_id = ${eventAt(sequence)}`);
const editSegment = (assignment: string, number = 3) =>
  asAttacker(
    `update audit_segments set ${assignment} where organization_id = '${organizationId}' and number = ${number}`,
  );
const editTreeHead = (assignment: string) =>
  asAttacker(
    `update audit_tree_heads set ${assignment}
     where number = (select tree from audit_segments where organization_id = '${organizationId}' and number = 3)`,
  );

/** The code is given where only one is right. */
const finds = (
  what: string,
  tamper: () => Promise<unknown>,
  code?: string,
  options: () => Partial<VerificationOptions> = () => ({}),
) =>
  it(`red: ${what}`, async () => {
    await tamper();
    try {
      const found = await problem(options());
      assert.ok(found, 'not found');
      if (code !== undefined) assert.equal(found.code, code, JSON.stringify(found));
    } finally {
      await restore();
    }
  });

const checkedBefore = await verify();
assert.ok(checkedBefore.status === 'intact', JSON.stringify(checkedBefore));
const { newest } = checkedBefore;

describe('an intact log', () => {
  it('green: every event, checkpoint and signature', async () => {
    const seen: number[] = [];
    const verdict = await verify({ onProgress: ({ checked }) => seen.push(checked) });
    assert.ok(verdict.status === 'intact', JSON.stringify(verdict));
    const { newest, ...rest } = verdict;
    assert.deepEqual(rest, {
      status: 'intact',
      events: size,
      checkpoints: perPass.length,
      // Each tree head and the key.
      signatures: perPass.length + 1,
      startsAfter: 0,
    });
    assert.deepEqual([newest?.number, newest?.size], [perPass.length, size]);
    assert.equal(seen.at(-1), size);
  });

  it('green: in small pages, and while events arrive', async () => {
    const organization = t.app.ids.uuid();
    await recordEvents(t, organization, 30);
    const evidence = evidenceOf(organization);
    const verdict = await verify({
      evidence: {
        ...evidence,
        async chain(after, limit) {
          const page = await evidence.chain(after, Math.min(limit, 7));
          await recordEvents(t, organization, 1);
          return page;
        },
      },
    });
    assert.equal(verdict.status, 'intact', JSON.stringify(verdict));
  });

  it('green: a log without events', async () => {
    const verdict = await verify({}, t.app.ids.uuid());
    assert.deepEqual([verdict.status, verdict.status === 'intact' && verdict.events], ['intact', 0]);
  });

  it('green: with the checkpoint of an earlier check, and the events on display', async () => {
    const first = await verify();
    assert.ok(first.status === 'intact');
    const { data } = await read(`/api/v1/audit?organizationId=${organizationId}&limit=50`);
    const verdict = await verify({ remembered: first.newest, shown: data });
    assert.equal(verdict.status, 'intact', JSON.stringify(verdict));
  });

  it('unproven: a browser without the algorithm', async () => {
    const original = crypto.subtle.importKey;
    crypto.subtle.importKey = () => Promise.reject(new DOMException('no', 'NotSupportedError'));
    try {
      assert.deepEqual(await verify(), {
        status: 'unproven',
        reason: 'this browser cannot check RS256 signatures',
      });
    } finally {
      crypto.subtle.importKey = original;
    }
  });
});

describe('an edited event', () => {
  for (const [what, assignment] of Object.entries({
    event_id: 'event_id = gen_random_uuid()',
    organization_id: `organization_id = '${otherId}'`,
    agent_id: 'agent_id = gen_random_uuid()',
    action: "action = action || 'x'",
    outcome: "outcome = case outcome when 'success' then 'failure' else 'success' end",
    ip_address: "ip_address = '192.0.2.2'",
    user_agent: "user_agent = user_agent || ' '",
    metadata: `metadata = replace(metadata::text, '3600', '3601')::json`,
    'metadata (other order)': `metadata = metadata::jsonb::json`,
    'occurred_at, by a millisecond': "occurred_at = occurred_at + interval '1 millisecond'",
    'occurred_at, by a microsecond': "occurred_at = occurred_at + interval '1 microsecond'",
    canonical: `canonical = replace(${canonical}, '3600', '3601')`,
    'canonical, to a number': "canonical = '17'",
    appended_in: "appended_in = '3'",
    seal: "seal = decode('00', 'hex')",
    'seal, to none': 'seal = null',
  }))
    for (const sequence of [2, 30, size])
      finds(`${what}, of ${sequence}`, () => editEvent(assignment, sequence));

  it('red: names the position and the event', async () => {
    await editEvent("action = 'nothing.happened'", 41);
    try {
      const [row] = await t.sql<{ id: string }>(`select ${eventAt(41)} as id`);
      const verdict = await verify();
      assert.ok(verdict.status === 'broken');
      const { code, sequence, eventId } = verdict.finding;
      assert.deepEqual([verdict.checked, code, sequence, eventId], [40, 'EVENT_CHANGED', 41, row?.id]);
    } finally {
      await restore();
    }
  });
});

describe('something removed', () => {
  const remove = (sequence: number) =>
    asAttacker(`delete from audit_events where event_id = ${eventAt(sequence)}`);
  for (const sequence of [1, 30, size])
    finds(`the event ${sequence}`, () => remove(sequence), 'EVENT_MISSING');
  for (const number of [1, 3, perPass.length])
    finds(`the last link of segment ${number}`, () =>
      editSegment('records = substr(records, 1, octet_length(records) - 56)', number),
    );
  finds('all evidence', () =>
    asAttacker(`delete from audit_segments where organization_id = '${organizationId}'`),
  );
  const cut = () =>
    asAttacker(
      `delete from audit_events where event_id in
         (select event_id from ${auditLinks} l where organization_id = '${organizationId}' and number >= 5);
       delete from audit_segments where organization_id = '${organizationId}' and number >= 5`,
    );
  finds('the tail with its segments, in a browser that has seen it', cut, 'CHECKPOINT_LOST', () => ({
    remembered: newest,
  }));
  finds('the tail without its segments', () =>
    asAttacker(
      `delete from audit_events where event_id in
         (select event_id from ${auditLinks} l where organization_id = '${organizationId}' and sequence >= 60)`,
    ),
  );
});

describe('something added', () => {
  const columns =
    'event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at, canonical, appended_in, seal';
  const insertCopy = (changes: Record<string, string>, sequence = 30) =>
    asAttacker(
      `insert into audit_events (${columns})
       select ${columns
         .split(', ')
         .map((column) => changes[column] ?? column)
         .join(', ')} from audit_events where event_id = ${eventAt(sequence)}`,
    );
  const id = { event_id: 'gen_random_uuid()' };
  finds('a copy under another id', () => insertCopy(id), 'EVENT_NOT_LINKED');
  finds(
    'a copy at another time',
    () => insertCopy({ occurred_at: "occurred_at + interval '3 milliseconds'" }),
    'EVENT_NOT_LINKED',
  );
  finds(
    'an event of an old transaction',
    () => insertCopy({ ...id, appended_in: "'5'" }),
    'EVENT_NOT_LINKED',
  );
  finds(
    'an event without a seal',
    () => insertCopy({ ...id, seal: 'null', appended_in: 'pg_current_xact_id()' }),
    'EVENT_NOT_LINKED',
  );
  finds(
    'an event after the end',
    () => insertCopy({ ...id, occurred_at: "occurred_at + interval '1 hour'" }),
    'EVENT_NOT_LINKED',
  );
  finds('a link twice', () => editSegment('records = records || substr(records, 1, 56)'));
  finds('a byte after the links', () => editSegment("records = records || '\\x00'::bytea"));
  finds('a segment twice', () =>
    asAttacker(
      `insert into audit_segments (organization_id, number, size, taken_at, taken_on, head, previous, records, tree, leaf_index, proof)
       select organization_id, number, size, taken_at, taken_on + 1, head, previous, records, tree, leaf_index, proof
       from audit_segments where organization_id = '${organizationId}' and number = 3`,
    ),
  );
  finds('a segment below the first', () =>
    asAttacker(
      `insert into audit_segments (organization_id, number, size, taken_at, taken_on, head, previous, records, tree, leaf_index, proof)
       select organization_id, number, 0, taken_at, taken_on, head, previous, records, tree, leaf_index, proof
       from audit_segments where organization_id = '${organizationId}' and number = 3`,
    ),
  );
});

describe('something moved', () => {
  const swap = (column: string) =>
    asAttacker(
      `update audit_events a set ${column} = b.${column} from audit_events b
       where (a.event_id, b.event_id) in ((${eventAt(30)}, ${eventAt(50)}), (${eventAt(50)}, ${eventAt(30)}))`,
    );
  for (const column of ['agent_id', 'metadata'])
    finds(`two values swapped: ${column}`, () => swap(column), 'EVENT_CHANGED');
  finds('two texts swapped', async () => {
    await asAttacker(
      `update audit_events set canonical = ${canonical} where event_id in (${eventAt(30)}, ${eventAt(50)})`,
    );
    await swap('canonical');
  });
  finds('two links swapped', () =>
    editSegment('records = substr(records, 57, 56) || substr(records, 1, 56) || substr(records, 113)'),
  );
  for (const [what, replacement] of Object.entries({
    'another event': 'overlay(records placing uuid_send(gen_random_uuid()) from 1)',
    'another time': 'overlay(records placing int8send(5) from 17)',
    'another hash': 'overlay(records placing sha256(records) from 25)',
    'one byte less': 'substr(records, 2)',
  }))
    finds(`a link: ${what}`, () => editSegment(`records = ${replacement}`));
});

describe('a chain with new hashes', () => {
  const tamper = async () => {
    await editEvent("action = 'nothing.happened', canonical = null");
    await recomputeHashes(session, organizationId);
  };
  finds('with its old signatures', tamper);
  finds('signed by the attacker, with our key id', async () => {
    await tamper();
    const [row] = await t.sql<{ id: string }>('select key_id as id from audit_keys');
    await signAllCheckpoints(session, organizationId, createForger(), row?.id);
  });
  finds(
    'signed by the attacker, whose key is inserted',
    async () => {
      await tamper();
      const forger = createForger();
      await signAllCheckpoints(session, organizationId, forger);
      const statement = { number: 2, key: forger.key, at: new Date(0).toISOString(), previous: null };
      const signed = forger.sign('audit-key+jwt', statement);
      await asAttacker(
        `insert into audit_keys values (2, '${forger.key.kid}', '${statement.at}', '${signed}')`,
      );
    },
    'KEY_NOT_TRUSTED',
  );
  finds(
    'covered by an anchor of the attacker',
    async () => {
      const claims = {
        organizationId,
        number: 1,
        at: new Date(0).toISOString(),
        droppedThrough: '2999-01-01',
        checkpoint: { number: 1, size: 1, head: '00', hash: null },
      };
      const signed = createForger().sign('audit-anchor+jwt', claims);
      await asAttacker(
        `delete from audit_segments where organization_id = '${organizationId}' and number = 1;
         insert into audit_anchors values ('${organizationId}', 1, '${claims.at}', '${signed}')`,
      );
    },
    'ANCHOR_NOT_SIGNED',
  );
});

describe('segments, tree heads and keys', () => {
  for (const number of [1, 3, perPass.length])
    finds(
      `segment ${number} removed`,
      () =>
        asAttacker(
          `delete from audit_segments where organization_id = '${organizationId}' and number = ${number}`,
        ),
      number === perPass.length ? 'EVENT_NOT_LINKED' : undefined,
    );
  for (const assignment of [
    'number = number + 1000',
    'size = size + 1',
    'head = sha256(head)',
    'previous = sha256(head)',
    "taken_at = taken_at + interval '1 second'",
    'taken_on = taken_on + 1',
    'tree = tree + 1',
    'tree = tree + 1000',
    'tree = null',
    'leaf_index = 1 - leaf_index',
    'leaf_index = null',
    'proof = sha256(proof)',
    "proof = ''",
    "signed = 'nothing', tree = null",
  ])
    finds(`a segment edited: ${assignment}`, () => editSegment(assignment));
  finds('the tree head removed', () =>
    asAttacker(
      `delete from audit_tree_heads where number =
         (select tree from audit_segments where organization_id = '${organizationId}' and number = 3)`,
    ),
  );
  for (const assignment of [
    'number = number + 1000',
    'size = size + 1',
    "key_id = 'another'",
    "signed = replace(signed, '.', '.e')",
    "signed = signed || 'A'",
    "signed = 'nothing'",
  ])
    finds(`a tree head edited: ${assignment}`, () => editTreeHead(assignment));
  finds(
    'another key signed a tree head before the last',
    async () => {
      const [head] = await session.run<{ signed: string }>(
        `select signed from audit_tree_heads where number =
           (select tree from audit_segments where organization_id = $1 and number = 3)`,
        [organizationId],
      );
      const [header, claims] = (head?.signed ?? '')
        .split('.', 2)
        .map((part) => JSON.parse(`${Buffer.from(part, 'base64url')}`));
      await editTreeHead(`signed = '${createForger().sign(header.typ, claims, header.kid)}'`);
    },
    'TREE_HEAD_NOT_SIGNED',
  );
  for (const assignment of ['number = 2', "key_id = 'another'", "signed = 'nothing'"])
    finds(
      `the key edited: ${assignment}`,
      () => asAttacker(`update audit_keys set ${assignment}`),
      'KEY_NOT_TRUSTED',
    );
  finds('the key removed', () => asAttacker('delete from audit_keys'), 'KEY_NOT_TRUSTED');
});

describe('a server that answers with something else', () => {
  const alterPages = (change: (page: ChainPage) => unknown) =>
    problem({ alter: (page) => change(page) as ChainPage });

  it('red: the chain of another organization', async () => {
    const other = evidenceOf(otherId);
    let calls = 0;
    const own = evidenceOf(organizationId);
    const chain: Evidence['chain'] = async (after, limit) => {
      calls += 1;
      return calls === 1 ? own.chain(after, Math.min(limit, 5)) : other.chain(after, limit);
    };
    assert.equal((await problem({ evidence: { ...own, chain } }))?.code, 'ANOTHER_ORGANIZATION');
  });

  it('red: answers without the fields, or with others', async () => {
    for (const change of [
      () => ({}),
      () => null,
      (page: ChainPage) => ({ ...page, links: undefined }),
      (page: ChainPage) => ({ ...page, checkpoints: [null] }),
      (page: ChainPage) => ({ ...page, links: page.links.map((link) => ({ ...link, event: {} })) }),
      (page: ChainPage) => ({ ...page, checkpoints: [] }),
      (page: ChainPage) => ({ ...page, size: page.size + 3 }),
      (page: ChainPage) => ({ ...page, startsAfter: 5 }),
      (page: ChainPage) => ({ ...page, inconsistentLinks: true }),
    ])
      assert.ok(await alterPages(change), change.toString());
  });

  it('red: a list that shows other values, fewer events, or an event of its own', async () => {
    const { data } = await read(`/api/v1/audit?organizationId=${organizationId}&limit=20`);
    const changed = data.map((event: ShownEvent, index: number) =>
      index === 7 ? { ...event, userAgent: 'another' } : event,
    );
    assert.equal((await problem({ shown: changed }))?.code, 'EVENT_SHOWN_DIFFERS');
    const evidence = evidenceOf(organizationId);
    const listed: Evidence['listed'] = async (period, limit) => {
      const { total, events } = await evidence.listed(period, limit);
      return { total: Math.max(0, total - 1), events };
    };
    assert.equal((await problem({ evidence: { ...evidence, listed } }))?.code, 'EVENT_NOT_LISTED');
  });

  it('red: the demonstration, which leaves the log as it is', async () => {
    assert.equal((await problem({ alter: createAlteration() }))?.code, 'EVENT_CHANGED');
    assert.equal((await verify()).status, 'intact');
  });
});

describe('a checkpoint of an earlier version, which is signed itself', () => {
  it('green, and red when its row or its text was changed', async () => {
    const organization = t.app.ids.uuid();
    // To the process of the tests above, `restore` has removed tree heads: it links no more.
    const config = loadConfig(environment(t.databaseUrl));
    const another = await createApp({ config, log: createLog({ level: 'silent' }), clock: t.clock });
    for (const events of [3, 2]) {
      await recordEvents(t, organization, events);
      t.clock.advance(1_000);
      await another.audit.linkAll();
    }
    await another.close();
    const { signingKeys, baseUrl: issuer } = config;
    const signer = await createSigner({ ...signingKeys, previousPublicKeys: [], issuer, clock: t.clock });
    const rows = `where organization_id = '${organization}' and number =`;
    const [row] = await session.run<{ size: number; head: string; at: string }>(
      `select size::int, encode(head, 'hex') as head, taken_at as at from audit_segments ${rows} 1`,
    );
    assert.ok(row);
    const claims = { organizationId: organization, number: 1, ...row, previous: null };
    const makeOld = async (signed: string) =>
      asAttacker(
        `update audit_segments set tree = null, leaf_index = null, proof = null, signed = '${signed}', key_id = '${signer.keyId}' ${rows} 1`,
      );
    const genuine = await signer.sign(claims, 'audit-checkpoint+jwt');
    await makeOld(genuine);
    // The second names the first by its hash, and so is of an earlier version as well.
    const [next] = await session.run<{ size: number; head: string; at: string }>(
      `select size::int, encode(head, 'hex') as head, taken_at as at from audit_segments ${rows} 2`,
    );
    const previous = createHash('sha256').update(genuine).digest('hex');
    const second = await signer.sign(
      { organizationId: organization, number: 2, ...next, previous },
      'audit-checkpoint+jwt',
    );
    await asAttacker(
      `update audit_segments set tree = null, leaf_index = null, proof = null, signed = '${second}', key_id = '${signer.keyId}', previous = decode('${previous}', 'hex') ${rows} 2`,
    );
    const verdict = await verify({}, organization);
    assert.equal(verdict.status, 'intact', JSON.stringify(verdict));
    for (const signed of [
      await signer.sign({ ...claims, size: 2 }, 'audit-checkpoint+jwt'),
      await signer.sign(claims, 'audit-tree-head+jwt'),
      createForger().sign('audit-checkpoint+jwt', claims, signer.keyId),
      'nothing',
    ]) {
      await makeOld(signed);
      const result = await verify({}, organization);
      assert.ok(result.status === 'broken');
      assert.equal(result.finding.code, 'CHECKPOINT_NOT_SIGNED');
    }
    await makeOld(genuine);
    await asAttacker(`update audit_segments set previous = sha256('x') ${rows} 2`);
    assert.equal((await verify({}, organization)).status, 'broken');
    await restore();
  });
});

describe('signing keys', () => {
  it('green: ES256 and EdDSA keys, through rotations, back to keys that are no longer published', async () => {
    const { generateKeyPairSync } = await import('node:crypto');
    const organization = t.app.ids.uuid();
    const pairs = [
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
      generateKeyPairSync('ed25519'),
      generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ];
    for (const pair of pairs) {
      const node = await startApp(
        {
          JWT_PRIVATE_KEY: String(pair.privateKey.export({ format: 'pem', type: 'pkcs8' })),
          JWT_PUBLIC_KEY: String(pair.publicKey.export({ format: 'pem', type: 'spki' })),
        },
        t,
      );
      operator = await node.token();
      await recordEvents(node, organization, 4);
      await node.app.audit.linkAll();
      const verdict = await verifyLog({ evidence: evidenceOf(organization, node), now: t.clock.now });
      assert.equal(verdict.status, 'intact', JSON.stringify(verdict));
    }
  });
});

describe('after retention', () => {
  it('green: from the signed anchor; a checkpoint from before it is no longer looked for', async () => {
    const node = await startApp({}, t);
    operator = await node.token();
    const organization = node.app.ids.uuid();
    await recordEvents(node, organization, 5);
    const evidence = evidenceOf(organization, node);
    const before = await verifyLog({ evidence, now: t.clock.now });
    assert.ok(before.status === 'intact', JSON.stringify(before));
    t.clock.advance(92 * dayMs);
    await recordEvents(node, organization, 3);
    await node.app.audit.linkAll();
    await node.app.audit.retain();
    operator = await node.token();
    const verdict = await verifyLog({ evidence, now: t.clock.now, remembered: before.newest });
    assert.ok(verdict.status === 'intact', JSON.stringify(verdict));
    assert.deepEqual([verdict.events, verdict.startsAfter], [3, 5]);
    // A clock that is behind by more than retention allows.
    const late = await verifyLog({ evidence, now: () => t.clock.now() - 3 * dayMs });
    assert.equal(late.status, 'intact', JSON.stringify(late));
  });
});
