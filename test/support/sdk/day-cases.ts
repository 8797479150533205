/** Exports of one day: they go on from the last checkpoint before it, and are of the day that their signed statement names. */
import type { CheckpointLine, EndLine, StartLine } from '../../../sdk/typescript/src/audit/export-lines.ts';
import type { FindingCode } from '../../../src/features/audit/findings.ts';
import { type AuditExportCase, createExportChanges, type RecordedExports } from './export-changes.ts';
import { cosignedAt, withProofs, witnessNames } from './log-proof-cases.ts';

const parse = (lines: readonly string[]) => lines.map((text) => JSON.parse(text));
const dayOf = (lines: readonly string[]) =>
  JSON.parse(`${Buffer.from(parse(lines).at(-1).signed.split('.')[1], 'base64url')}`).day as string;

export async function dayCases({ logged }: RecordedExports): Promise<AuditExportCase[]> {
  const { jwks, resigned, log } = logged;
  const { firstDay, quietDay, anchoredDay, shortenedDay } = logged;
  const one = await withProofs(logged.secondDay, async (line) => ({
    ...line,
    checkpoint: await log.note(line.checkpoint, [0, 1]),
  }));
  const day = dayOf(one);
  const { accept, refuse, changed, removed, placeOf, forged, lines } = createExportChanges({ jwks, one });
  const start = lines[placeOf('start', 0)] as StartLine;
  const end = lines.at(-1) as EndLine;
  const keys = one.slice(0, placeOf('start', 0));

  const intact = (name: string, exported: readonly string[], more: Partial<AuditExportCase> = {}) =>
    accept(name, exported, { day: dayOf(exported), ...more });
  /** The last line with other claims, signed by the key of the server. */
  const stated = (exported: readonly string[], claims: object, counts: object = {}) => {
    const last = JSON.parse(exported.at(-1) as string) as EndLine;
    return exported.with(
      -1,
      JSON.stringify({ ...last, ...counts, signed: resigned(last.signed as string, claims) }),
    );
  };
  const changedStart = (name: string, problem: FindingCode, change: (line: StartLine) => object) =>
    refuse(name, problem, changed('start', 0, change));
  const proof = parse(one)[placeOf('logProof', 0)];
  const [firstOfDay] = lines.filter(({ kind }) => kind === 'checkpoint') as CheckpointLine[];
  const anchorPlace = parse(anchoredDay).findIndex(({ kind }) => kind === 'anchor');
  const links = lines.filter(({ kind }) => kind === 'link').length;
  /** As if the day began after its first checkpoint. */
  const laterStart = [
    ...keys,
    JSON.stringify({ ...firstOfDay, kind: 'start' }),
    ...one.slice(placeOf('checkpoint', 0) + 1),
  ];
  const fewer = links - (placeOf('checkpoint', 0) - placeOf('link', 0));

  return [
    intact('a day', one),
    intact('a day, with two witnesses', one, {
      log: { key: log.key, witnesses: log.witnesses },
      witnessed: {
        checkpointSize: proof.treeSize,
        time: new Date((cosignedAt[1] as number) * 1_000).toISOString(),
        witnesses: witnessNames,
        events: links,
      },
    }),
    intact('the day that begins the chain', firstDay),
    intact('a day without events', quietDay),
    intact('a day after retention has dropped the events before it', anchoredDay),
    intact('a day after retention has dropped the checkpoint before it', shortenedDay),
    intact('a day, with the checkpoint that it goes on from', one, {
      checkpoint: JSON.stringify({
        signed: start.signed,
        inclusion: {
          ...start.inclusion,
          checkpoint: JSON.stringify({
            at: start.at,
            head: start.head,
            number: start.number,
            organizationId: start.organizationId,
            previous: start.previous,
            size: start.size,
          }),
        },
      }),
    }),

    refuse('the start of a day was removed', 'LINK_MISSING', removed('start', 0)),
    refuse(
      'the start of a day without events was removed',
      'EXPORT_CHAIN_COUNT',
      quietDay.filter((text) => !text.startsWith('{"kind":"start"')),
    ),
    refuse(
      'the start of a day is there twice',
      'EXPORT_CHAIN_COUNT',
      one.toSpliced(placeOf('start', 0), 0, JSON.stringify(start)),
    ),
    refuse(
      'a second start after the first link of a day',
      'LINKS_WITHOUT_CHECKPOINT',
      one.toSpliced(placeOf('link', 0) + 1, 0, JSON.stringify(start)),
    ),
    refuse('a start in version 1', 'EXPORT_LINE_INVALID', one.with(0, '{"kind":"export","version":1}')),
    changedStart('an unknown field of a start', 'EXPORT_FIELD_UNKNOWN', (line) => ({ ...line, note: 'x' })),
    changedStart('a start without its head', 'EXPORT_LINE_INVALID', ({ head, ...line }) => line),
    changedStart('the organization of a start was changed', 'INCLUSION_PROOF_INVALID', (line) => ({
      ...line,
      organizationId: '00000000-0000-4000-8000-000000000000',
    })),
    changedStart('the number of a start was changed', 'INCLUSION_PROOF_INVALID', ({ number, ...line }) => ({
      ...line,
      number: number + 1,
    })),
    changedStart('the size of a start was changed', 'INCLUSION_PROOF_INVALID', ({ size, ...line }) => ({
      ...line,
      size: size + 1,
    })),
    changedStart('the head of a start was changed', 'INCLUSION_PROOF_INVALID', (line) => ({
      ...line,
      head: '00'.repeat(32),
    })),
    changedStart('the previous hash of a start was changed', 'INCLUSION_PROOF_INVALID', (line) => ({
      ...line,
      previous: '00'.repeat(32),
    })),
    changedStart('the key id of a start was changed', 'INCLUSION_PROOF_INVALID', (line) => ({
      ...line,
      keyId: 'x',
    })),
    changedStart('the time of a start was changed', 'INCLUSION_PROOF_INVALID', (line) => ({
      ...line,
      at: `${line.at.slice(0, 10)}T00:00:00.000Z`,
    })),
    changedStart('the day of a start was changed', 'CHECKPOINT_NOT_FOLLOWING', (line) => ({
      ...line,
      takenOn: '2001-01-01',
    })),
    changedStart('the leaf of a start was changed', 'INCLUSION_PROOF_INVALID', (line) => ({
      ...line,
      inclusion: { ...line.inclusion, leafIndex: 7 },
    })),
    changedStart('a start without its inclusion', 'CHECKPOINT_NOT_SIGNED', ({ inclusion, ...line }) => line),
    changedStart('another key signed a start', 'TREE_HEAD_NOT_SIGNED', (line) => ({
      ...line,
      signed: forged(line.signed),
    })),
    refuse('a start before the one that the anchor names', 'CHECKPOINT_NOT_FOLLOWING', [
      ...shortenedDay.slice(0, anchorPlace + 1),
      JSON.stringify(start),
      ...shortenedDay.slice(anchorPlace + 1),
    ]),
    refuse('the anchor of a day was removed', 'EXPORT_CHAINS_DIFFER', anchoredDay.toSpliced(anchorPlace, 1)),
    refuse('the day begins after its first checkpoint', 'EXPORT_EVENT_COUNT', laterStart),
    refuse(
      'the server signed a day that begins after its first checkpoint',
      'EXPORT_DAY_MISMATCH',
      stated(laterStart, { events: fewer }, { events: fewer }),
    ),

    refuse('the last line of another day', 'EXPORT_EVENT_COUNT', one.with(-1, quietDay.at(-1) as string)),
    refuse('the day is in no signed statement', 'EXPORT_DAY_MISSING', stated(one, { day: undefined })),
    refuse('the day of the signed statement is null', 'EXPORT_DAY_MISSING', stated(one, { day: null })),
    refuse(
      'the signed statement names another day',
      'EXPORT_DAY_MISMATCH',
      stated(one, { day: dayOf(firstDay) }),
    ),
    refuse(
      'the signed statement names another day without events',
      'EXPORT_DAY_MISMATCH',
      stated(quietDay, { day: dayOf(firstDay) }),
    ),
    refuse('the day of the signed statement is no text', 'EXPORT_DAY_MISMATCH', stated(one, { day: [day] })),
    refuse(
      'the export of a day began before its end',
      'EXPORT_DAY_MISMATCH',
      stated(one, { at: `${day}T23:59:59.999Z` }),
    ),
    refuse(
      'the export of a day names no organization',
      'EXPORT_DAY_MISMATCH',
      stated(one, { organizationId: null }),
    ),
    refuse('a whole export with a day', 'EXPORT_DAY_MISMATCH', stated(logged.one, { day })),
    refuse(
      'several organizations with a day',
      'EXPORT_DAY_MISMATCH',
      stated(logged.whole, { day, organizationId: start.organizationId }),
    ),
    refuse(
      'the last line of a day is not signed',
      'EXPORT_WITHOUT_STATEMENT',
      one.with(-1, JSON.stringify({ kind: 'end', chains: end.chains, events: end.events })),
    ),
  ];
}
