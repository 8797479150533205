/** An export is signed as a whole: a chain that was removed or added is found. */
import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { verifyExport } from '../../../../sdk/typescript/src/audit/verify-export.ts';
import { environment, startApp } from '../../../../test/support/harness.ts';
import { createForger, recordEvents } from '../../../../test/support/scenarios/audit-log.ts';
import { createStatementReader, describePublicKey } from '../../../adapters/keys/keys.ts';
import { statementTypes, unverifiedClaims } from '../chain/statements.ts';

interface Line {
  readonly kind: string;
  readonly organizationId?: string;
  readonly signed?: string;
  readonly event?: unknown;
}

const dayMs = 86_400_000;
const t = await startApp();
const { audit } = t.app;
const [first, second] = [t.app.ids.uuid(), t.app.ids.uuid()].sort() as [string, string];
const roots = [await describePublicKey(createPublicKey(environment(t.databaseUrl).JWT_PUBLIC_KEY))];
const read = createStatementReader();

const exported = async (organizationId?: string): Promise<Line[]> => {
  const lines: Line[] = [];
  await audit.export({
    organizationId,
    write: async ({ texts }) => void lines.push(...texts.map((text) => JSON.parse(text))),
  });
  return lines;
};

async function* textOf(lines: readonly object[]) {
  for (const line of lines) yield JSON.stringify(line);
}
const verified = (lines: readonly object[]) => verifyExport(textOf(lines), { roots, read });
const problemIn = async (lines: readonly object[]) => (await verified(lines)).finding?.problem;
const of = (organizationId: string, lines: readonly Line[]) =>
  lines.filter((line) => line.organizationId === organizationId);
const without = (organizationId: string, lines: readonly Line[]) =>
  lines.filter((line) => line.organizationId !== organizationId);
const endedBy = (end: object, lines: readonly Line[]) => lines.with(-1, end as Line);
const numbers = async (lines: readonly Line[]) => {
  const { chains, events } = await verified(endedBy({ kind: 'end', events: links(lines) }, lines));
  return { chains, events };
};
const links = (lines: readonly Line[]) => lines.filter(({ kind }) => kind === 'link').length;

await recordEvents(t, first, 4);
await recordEvents(t, second, 3);
const whole = await exported();
const end = whole.at(-1) as Line;

describe('an intact export', () => {
  it('is intact; the verdict has its start and says that it has all organizations', async () => {
    const { finding, statement, ...sum } = await verified(whole);
    assert.equal(finding, undefined);
    assert.deepEqual(sum, { chains: 3, events: links(whole), logEvents: 0, witnessed: null });
    assert.deepEqual(statement, unverifiedClaims('export', end.signed as string));
    assert.equal(statement?.organizationId, null);
    assert.ok(Math.abs(Date.parse(statement.at) - t.clock.now()) < 60_000);
  });

  it('is intact with one organization, which the verdict names', async () => {
    const { finding, statement, ...sum } = await verified(await exported(second));
    assert.equal(finding, undefined);
    assert.deepEqual(sum, { chains: 1, events: 3, logEvents: 0, witnessed: null });
    assert.equal(statement?.organizationId, second);
  });

  it('is intact for an organization without events', async () => {
    const { finding, statement, chains } = await verified(await exported(t.app.ids.uuid()));
    assert.equal(finding, undefined);
    assert.deepEqual([chains, statement?.chains], [0, 0]);
  });
});

describe('an export that differs from its signed manifest', () => {
  const chainsAre = (found: number, signed: number) =>
    `the export has another number of chains (${found}) than its signed statement (${signed})`;

  it('a whole chain was removed', async () => {
    assert.equal(await problemIn(without(second, whole)), chainsAre(2, 3));
  });

  it('a whole chain was removed, and the numbers of the last line edited', async () => {
    for (const organizationId of [first, second]) {
      const rest = without(organizationId, whole);
      const edited = endedBy({ ...end, ...(await numbers(rest)) }, rest);
      assert.equal(await problemIn(edited), chainsAre(2, 3));
    }
  });

  it('only the numbers were edited', async () => {
    for (const change of [{ events: 1 }, { chains: 1 }, { chains: 4, events: 99 }, { events: undefined }])
      assert.equal(
        await problemIn(endedBy({ ...end, ...change }, whole)),
        'the numbers in the last line differ from its signed statement',
      );
  });

  it('a chain was removed, and the last line comes from an export of one organization', async () => {
    const other = (await exported(first)).at(-1) as Line;
    const problem = await problemIn(endedBy(other, without(second, whole)));
    assert.equal(problem, chainsAre(2, 1));
  });

  it('the last line comes from another export with as many chains and events', async () => {
    const [one, another] = [t.app.ids.uuid(), t.app.ids.uuid()];
    for (const organizationId of [one, another]) await recordEvents(t, organizationId, 2);
    const other = (await exported(another)).at(-1) as Line;
    const problem = await problemIn(endedBy(other, await exported(one)));
    assert.equal(problem, 'the chains of the export are not those of its signed statement');
  });

  it('the chains have another order', async () => {
    const [head, last] = [without(first, without(second, whole)), whole.slice(-1)];
    const moved = [...head.slice(0, -1), ...of(second, whole), ...of(first, whole), ...last];
    assert.equal(await problemIn(moved), 'the chains of the export are not those of its signed statement');
  });

  it('a chain was inserted, before the end or after it', async () => {
    const alone = await exported(first);
    const added = of(second, whole);
    assert.equal(await problemIn(alone.toSpliced(-1, 0, ...added)), chainsAre(2, 1));
    assert.equal(await problemIn([...alone, ...added]), 'the export has lines after its last line');
    assert.equal(await problemIn([...alone, end]), 'the export has lines after its last line');
  });

  it('a line is of an unknown kind, or a field that the rules read is missing or of another type', async () => {
    const broken = (kind: string, change: object) => {
      const index = whole.findIndex((line) => line.kind === kind);
      return whole.with(index, { ...whole[index], ...change } as Line);
    };
    const cases: [string, object][] = [
      ['link', { kind: 'toString' }],
      ['link', { sequence: null }],
      ['link', { sequence: '1' }],
      ['link', { linkedOn: undefined }],
      ['link', { event: undefined }],
      ['link', { event: { canonical: 1 } }],
      ['checkpoint', { at: { a: 1 } }],
      ['checkpoint', { head: null }],
      ['checkpoint', { inclusion: null }],
      ['checkpoint', { inclusion: { proof: [1] } }],
      ['key', { signed: 5 }],
    ];
    for (const [kind, change] of cases)
      assert.equal(
        await problemIn(broken(kind, change)),
        'a line of the export is not valid',
        `${kind} ${JSON.stringify(change)}`,
      );
  });

  it('a line has a field twice, of which a program may read the first', async () => {
    const texts = whole.map((line) => JSON.stringify(line));
    const at = whole.findIndex(({ kind }) => kind === 'link');
    const repeat = (pattern: RegExp, text: string) => texts.with(at, texts[at]?.replace(pattern, text) ?? '');
    for (const [field, changed] of Object.entries({
      sequence: repeat(/"sequence":/, '"sequence":99,"sequence":'),
      canonical: repeat(/"canonical":/, '"canonical":"{}","c\\u0061nonical":'),
      kind: repeat(/"kind":/, '"kind":"checkpoint", "kind":'),
    })) {
      const { finding } = await verifyExport(Readable.from(changed), { roots, read });
      assert.equal(
        finding?.problem,
        `a line of the export has the field ${field} twice: programs may read different values`,
      );
    }
    const spaced = texts.map((text) => text.replaceAll('","', '" , "'));
    assert.equal((await verifyExport(Readable.from(spaced), { roots, read })).finding, undefined);
  });

  it('a line has a field that an export does not have', async () => {
    for (const kind of ['export', 'key', 'link', 'checkpoint', 'end']) {
      const at = whole.findIndex((line) => line.kind === kind);
      const { finding } = await verified(whole.with(at, { ...(whole[at] as Line), approved: true } as Line));
      assert.equal(finding?.code, 'EXPORT_FIELD_UNKNOWN', kind);
      assert.match(finding.problem, /has the field approved, which an export does not have/);
    }
    const at = whole.findIndex(({ event }) => event);
    const link = whole[at] as Line;
    const event = { ...(link.event as object), action: 'agent.created' };
    assert.equal((await verified(whole.with(at, { ...link, event }))).finding?.code, 'EXPORT_FIELD_UNKNOWN');
    const long = { ...link, ['x'.repeat(100_000)]: true };
    assert.match(
      (await problemIn(whole.with(at, long))) ?? '',
      /^a line of the export has the field x{100}…, which an export does not have/,
    );
  });

  it('the first line is missing, repeated or moved; a key comes after the chains', async () => {
    const header = whole[0] as Line;
    for (const lines of [
      whole.slice(1),
      [header, ...whole],
      [...whole.slice(1, 3), header, ...whole.slice(3)],
    ])
      assert.equal(await problemIn(lines), 'the export does not begin with one line of the kind "export"');
    const key = whole.find(({ kind }) => kind === 'key') as Line;
    assert.equal(await problemIn(whole.toSpliced(-1, 0, key)), 'a line of the export is not valid');
  });

  it('the last line is missing', async () => {
    const problem = 'the export is not complete: its last line is missing';
    assert.equal(await problemIn(whole.slice(0, -1)), problem);
  });

  it('the statement is signed by another key, edited, or of another kind', async () => {
    const rest = without(second, whole);
    const claims = { ...unverifiedClaims('export', end.signed as string), ...(await numbers(rest)) };
    const forger = createForger();
    const [header, , signature] = (end.signed as string).split('.');
    const edited = Buffer.from(JSON.stringify(claims)).toString('base64url');
    const signed = {
      forged: forger.sign(statementTypes.export, claims),
      'forged in the name of our key': forger.sign(statementTypes.export, claims, roots[0]?.kid),
      edited: [header, edited, signature].join('.'),
      'a checkpoint': whole.findLast(({ kind }) => kind === 'checkpoint')?.signed,
      'no text': null,
    };
    for (const [what, statement] of Object.entries(signed))
      assert.equal(
        await problemIn(endedBy({ ...end, ...(await numbers(rest)), signed: statement }, rest)),
        'the last line of the export has no valid signature by a trusted key',
        what,
      );
  });

  it('names the chain whose last checkpoint is forged, not the next one', async () => {
    const at = whole.findLastIndex((line) => line.kind === 'checkpoint' && line.organizationId === first);
    const row = whole[at] as Line;
    const forged = createForger().sign(
      statementTypes.treeHead,
      unverifiedClaims('treeHead', row.signed as string) as object,
      roots[0]?.kid,
    );
    const { finding } = await verified(whole.with(at, { ...row, signed: forged }));
    assert.match(finding?.problem ?? '', /^tree head \d+ has no valid signature by a trusted key$/);
    assert.equal(finding?.organizationId, first);
  });
});

describe('an export of an earlier version, whose end is not signed', () => {
  it('has no finding and no statement', async () => {
    const old = endedBy({ kind: 'end', chains: 3, events: links(whole) }, whole);
    assert.deepEqual(await verified(old), { chains: 3, events: links(whole), logEvents: 0, witnessed: null });
  });

  it('has a finding when the number of events differs', async () => {
    const problem = await problemIn(endedBy({ kind: 'end', chains: 3, events: 1 }, whole));
    assert.equal(problem, `the export has ${links(whole)} events, and its last line says 1`);
  });
});

describe('an export after retention', () => {
  const day = t.clock.now();
  const resting = t.app.ids.uuid();
  const anchorIn = (lines: readonly Line[]) => lines.findIndex(({ kind }) => kind === 'anchor');
  const retainAfter = async (days: number) => {
    t.clock.advance(day + days * dayMs - t.clock.now());
    await audit.prepare();
    await audit.retain();
  };
  let earlier: Line[] = [];

  it('is intact with its anchor', async () => {
    await recordEvents(t, resting, 2);
    await audit.linkAll();
    t.clock.advance(2 * dayMs);
    await audit.prepare();
    await recordEvents(t, resting, 3);
    await audit.linkAll();
    await retainAfter(92);
    earlier = await exported(resting);
    assert.equal(earlier.filter(({ kind }) => kind === 'anchor').length, 1);
    const { finding, ...sum } = await verified(earlier);
    assert.equal(finding, undefined);
    assert.deepEqual([sum.chains, sum.events], [1, 3]);
  });

  it("is not intact when a later export's anchor covers events that were removed", async () => {
    await retainAfter(93);
    const later = await exported(resting);
    const swapped = earlier
      .with(anchorIn(earlier), later[anchorIn(later)] as Line)
      .map((line) => (line.kind === 'link' ? { ...line, event: null } : line));
    assert.equal(await problemIn(swapped), 'the chains of the export are not those of its signed statement');
    assert.equal(await problemIn(later), undefined);
  });

  it('is intact when only the anchor is left', async () => {
    await retainAfter(200);
    const lines = await exported(resting);
    assert.equal(links(lines), 0);
    const { finding, statement } = await verified(lines);
    assert.equal(finding, undefined);
    assert.deepEqual([statement?.chains, statement?.events], [1, 0]);
    const all = await exported();
    assert.ok(all.some((line) => line.kind === 'anchor' && line.organizationId === resting));
    assert.equal(await problemIn(all), undefined);
    assert.match(String(await problemIn(without(resting, all))), /another number of chains/);
  });
});
