/**
 * The audit exports that `verifyAuditExport` of all SDKs must accept or refuse: real exports of a server, as they are and with
 * deliberate changes. Each changed export names the code of the finding that `countersign audit verify` reports.
 */

import type {
  CheckpointLine,
  EndLine,
  KeyLine,
  LinkLine,
} from '../../../sdk/typescript/src/audit/export-lines.ts';
import { leafHash } from '../../../src/features/audit/chain/merkle.ts';
import { checkpointText } from '../../../src/features/audit/chain/statements.ts';
import { dayCases } from './day-cases.ts';
import {
  type AuditExportCase,
  createExportChanges,
  type ExportChanges,
  type RecordedExports,
} from './export-changes.ts';
import { logProofCases } from './log-proof-cases.ts';

export async function auditExportCases(recorded: RecordedExports): Promise<AuditExportCase[]> {
  const changes = createExportChanges(recorded);
  const { accept } = changes;
  const { one, whole, empty, anchored, shortened } = recorded;
  const checkpoint = JSON.stringify(recorded.checkpoint);
  const firstCheckpoint = JSON.stringify(recorded.firstCheckpoint);
  return [
    accept('one organization', one),
    accept('several organizations', whole),
    accept('no events', empty),
    accept('after retention', anchored),
    accept('after retention has dropped links', shortened),
    accept('with empty lines', [...one, '', '']),
    accept('with its newest checkpoint', one, { checkpoint }),
    accept('with its first checkpoint', one, { checkpoint: firstCheckpoint }),
    accept('with line breaks around the checkpoint', one, { checkpoint: `\n${checkpoint}\n` }),
    accept('with the checkpoint that its anchor names', shortened, { checkpoint: firstCheckpoint }),
    accept('several organizations, with the checkpoint of one', whole, { checkpoint }),
    ...linkCases(changes, recorded),
    ...checkpointCases(changes),
    ...wholeCases(changes, recorded),
    ...keyCases(changes, recorded),
    ...externalCases(changes, recorded),
    ...anchorCases(changes, recorded),
    ...(await logProofCases(recorded)),
    ...(await dayCases(recorded)),
  ];
}

function linkCases(changes: ExportChanges, recorded: RecordedExports): AuditExportCase[] {
  const { refuse, changed, removed, swapped, placeOf, canonicalChanged, rehashed, lines, organizationId } =
    changes;
  const { one } = recorded;
  return [
    refuse(
      'an event was changed',
      'EVENT_CHANGED',
      changed('link', 1, (line) => canonicalChanged(line, '"success"', '"failure"')),
    ),
    refuse(
      'the seal of an event was changed',
      'EVENT_CHANGED',
      changed('link', 1, (line) => ({ ...line, event: { ...line.event, seal: '00' } })),
    ),
    refuse(
      'the transaction of an event was changed',
      'EVENT_CHANGED',
      changed('link', 1, (line) => ({ ...line, event: { ...line.event, appendedIn: '1' } })),
    ),
    refuse(
      'an event was removed from its link',
      'EVENT_MISSING',
      changed('link', 1, (line) => ({ ...line, event: null })),
    ),
    refuse(
      'the hash of an event was changed',
      'LINK_HASH_MISMATCH',
      changed('link', 1, (line) => ({ ...line, eventHash: '00'.repeat(32) })),
    ),
    refuse(
      'the hash of a link was changed',
      'LINK_HASH_MISMATCH',
      changed('link', 1, (line) => ({ ...line, hash: '00'.repeat(32) })),
    ),
    refuse(
      'the time of a link was changed',
      'LINK_HASH_MISMATCH',
      changed('link', 1, (line) => ({ ...line, time: line.time.replace(/\d{3}Z$/, '999Z') })),
    ),
    refuse(
      'the day of a link was changed',
      'LINK_DAY_MISMATCH',
      changed('link', 1, (line) => ({ ...line, linkedOn: '2001-01-01' })),
    ),
    refuse('the first link was removed', 'LINK_MISSING', removed('link', 0)),
    refuse('a link was removed', 'LINK_MISSING', removed('link', 1)),
    refuse(
      'the last link before a checkpoint was removed',
      'CHECKPOINT_HEAD_MISMATCH',
      one.toSpliced(placeOf('checkpoint', 0) - 1, 1),
    ),
    refuse('two links were swapped', 'LINK_MISSING', swapped(placeOf('link', 0), placeOf('link', 1))),
    refuse(
      'a link is there twice',
      'LINK_MISSING',
      one.toSpliced(placeOf('link', 1), 0, one[placeOf('link', 1)] as string),
    ),
    refuse(
      'an event was changed, and the hash of its link',
      'LINK_HASH_MISMATCH',
      rehashed((line, index) => (index === 0 ? canonicalChanged(line, '"success"', '"failure"') : line)).map(
        (line, place) => (place > placeOf('link', 0) ? (lines[place] as object) : line),
      ),
    ),
    refuse(
      'an event was changed, and the hashes of all links',
      'CHECKPOINT_HEAD_MISMATCH',
      rehashed((line, index) => (index === 0 ? canonicalChanged(line, '"success"', '"failure"') : line)),
    ),
    refuse(
      'an event has the text of another, and new hashes',
      'EVENT_TEXT_OF_ANOTHER',
      rehashed((line, index) =>
        index === 1 ? { ...line, event: (lines[placeOf('link', 0)] as LinkLine).event } : line,
      ),
    ),
    refuse(
      'the text of an event is not JSON, with new hashes',
      'EVENT_TEXT_INVALID',
      rehashed((line, index) => (index === 1 ? canonicalChanged(line, /^.*$/s, 'no JSON') : line)),
    ),
    refuse(
      'the links belong to another organization',
      'LINK_HASH_MISMATCH',
      one.map((text) => text.replaceAll(organizationId, '00000000-0000-4000-8000-000000000000')),
    ),
  ];
}

function checkpointCases(changes: ExportChanges): AuditExportCase[] {
  const { refuse, changed, removed, placeOf, forged, lines } = changes;
  const lastSigned = (change: (signed: string) => string) =>
    changed('checkpoint', -1, (line) => ({ ...line, signed: change(line.signed) }));
  const inclusionOf = (line: CheckpointLine) => line.inclusion ?? { proof: [] as string[], leafIndex: 0 };

  return [
    refuse('a checkpoint was removed', 'CHECKPOINT_NOT_FOLLOWING', removed('checkpoint', 1)),
    refuse('the last checkpoint was removed', 'LINKS_WITHOUT_CHECKPOINT', removed('checkpoint', -1)),
    refuse(
      'the last checkpoint and its links were removed',
      'EXPORT_EVENT_COUNT',
      lines.flatMap((line, place) =>
        place > placeOf('checkpoint', -2) && place <= placeOf('checkpoint', -1) ? [] : [line],
      ),
    ),
    refuse(
      'the size of a checkpoint was changed',
      'INCLUSION_PROOF_INVALID',
      changed('checkpoint', 0, (line) => ({ ...line, size: line.size + 1 })),
    ),
    refuse(
      'the head of a checkpoint was changed',
      'INCLUSION_PROOF_INVALID',
      changed('checkpoint', 0, (line) => ({ ...line, head: '00'.repeat(32) })),
    ),
    refuse(
      'the previous hash of a checkpoint was changed',
      'CHECKPOINT_NOT_FOLLOWING',
      changed('checkpoint', 1, (line) => ({ ...line, previous: '00'.repeat(32) })),
    ),
    refuse(
      'the day of a checkpoint was changed',
      'CHECKPOINT_NOT_FOLLOWING',
      changed('checkpoint', 0, (line) => ({ ...line, takenOn: '2001-01-01' })),
    ),
    refuse(
      'a node of an inclusion proof was changed',
      'INCLUSION_PROOF_INVALID',
      changed('checkpoint', 0, (line) => ({
        ...line,
        inclusion: { ...line.inclusion, proof: inclusionOf(line).proof.with(0, '00'.repeat(32)) },
      })),
    ),
    refuse(
      'an inclusion proof is too long',
      'INCLUSION_PROOF_INVALID',
      changed('checkpoint', 0, (line) => ({
        ...line,
        inclusion: { ...line.inclusion, proof: [...inclusionOf(line).proof, '00'.repeat(32)] },
      })),
    ),
    refuse(
      'an inclusion proof is of another leaf',
      'INCLUSION_PROOF_INVALID',
      changed('checkpoint', 0, (line) => ({
        ...line,
        inclusion: { ...line.inclusion, leafIndex: inclusionOf(line).leafIndex === 0 ? 1 : 0 },
      })),
    ),
    refuse(
      'an inclusion proof was removed',
      'CHECKPOINT_NOT_FOLLOWING',
      changed('checkpoint', 0, ({ inclusion, ...line }) => line),
    ),
    refuse(
      'the signature of the last tree head was changed',
      'TREE_HEAD_NOT_SIGNED',
      lastSigned((signed) => `${signed.slice(0, -6)}AAAAAA`),
    ),
    refuse(
      'the signature of the last tree head was removed',
      'TREE_HEAD_NOT_SIGNED',
      lastSigned((signed) => signed.slice(0, signed.lastIndexOf('.') + 1)),
    ),
    refuse('another key signed the last tree head', 'TREE_HEAD_NOT_SIGNED', lastSigned(forged)),
    refuse(
      'another key signed a tree head before the last',
      'TREE_HEAD_NOT_SIGNED',
      changed('checkpoint', 0, (line) => ({ ...line, signed: forged(line.signed) })),
    ),
    refuse(
      'the signature of a tree head before the last was changed',
      'TREE_HEAD_NOT_SIGNED',
      changed('checkpoint', 1, ({ signed, ...line }) => ({
        ...line,
        signed: `${signed.slice(0, -6)}AAAAAA`,
      })),
    ),
    refuse(
      'a tree head before the last was replaced by one with the checkpoint alone',
      'TREE_HEAD_NOT_SIGNED',
      changed('checkpoint', 0, (line) => ({
        ...line,
        signed: forged(line.signed, { size: 1, root: leafHash(checkpointText(line)) }),
        inclusion: { ...line.inclusion, treeSize: 1, leafIndex: 0, proof: [] },
      })),
    ),
    refuse(
      'the last tree head has a valid signature of another kind of statement',
      'INCLUSION_PROOF_INVALID',
      lastSigned(() => (lines.at(-1) as EndLine).signed as string),
    ),
  ];
}

function wholeCases(changes: ExportChanges, recorded: RecordedExports): AuditExportCase[] {
  const { refuse, changed, placeOf, forged, lines } = changes;
  const { one, whole } = recorded;
  const end = lines.at(-1) as EndLine;
  const endSigned = (signed: string) => one.with(-1, JSON.stringify({ ...end, signed }));
  const chainsOf = (texts: readonly string[]) => {
    const ids = texts.map((text) => JSON.parse(text).organizationId as string | undefined);
    const [first, second] = [...new Set(ids.filter((id) => id !== undefined))];
    const of = (id: string | undefined) => texts.filter((_, place) => ids[place] === id);
    const start = texts.slice(
      0,
      ids.findIndex((id) => id !== undefined),
    );
    const rest = texts.slice(start.length).filter((_, place) => {
      const id = ids[start.length + place];
      return id !== first && id !== second;
    });
    return { start, first: of(first), second: of(second), rest };
  };
  const chains = chainsOf(whole);
  const repeated = (one[placeOf('link', 0)] as string).replace('"sequence":1', '"sequence":9,"sequence":1');

  return [
    refuse('no lines', 'EXPORT_TRUNCATED', []),
    refuse('the last line is missing', 'EXPORT_TRUNCATED', one.slice(0, -1)),
    refuse('only the first line', 'EXPORT_TRUNCATED', one.slice(0, 1)),
    refuse(
      'the export ends within a line',
      'EXPORT_LINE_INVALID',
      one.slice(0, placeOf('link', 2) + 1).with(-1, (one[placeOf('link', 2)] as string).slice(0, 100)),
    ),
    refuse('a line is no object', 'EXPORT_LINE_INVALID', one.toSpliced(1, 0, 'null')),
    refuse('a line has an unknown kind', 'EXPORT_LINE_INVALID', one.toSpliced(1, 0, '{"kind":"toString"}')),
    refuse('the header is missing', 'EXPORT_HEADER_INVALID', one.slice(1)),
    refuse('a second header', 'EXPORT_HEADER_INVALID', one.toSpliced(1, 0, one[0] as string)),
    refuse('an unknown version', 'EXPORT_VERSION_UNKNOWN', one.with(0, '{"kind":"export","version":3}')),
    refuse('lines after the last line', 'EXPORT_CONTINUES', [...one, one.at(-1) as string]),
    refuse('a field is there twice', 'EXPORT_FIELD_REPEATED', one.with(placeOf('link', 0), repeated)),
    refuse(
      'an unknown field',
      'EXPORT_FIELD_UNKNOWN',
      changed('link', 0, (line) => ({ ...line, note: 'not signed' })),
    ),
    refuse(
      'an unknown field of an event',
      'EXPORT_FIELD_UNKNOWN',
      changed('link', 0, (line) => ({ ...line, event: { ...line.event, outcome: 'success' } })),
    ),
    refuse(
      'a field has another type',
      'EXPORT_LINE_INVALID',
      changed('link', 0, (line) => ({ ...line, sequence: '1' })),
    ),
    refuse('a chain was removed', 'EXPORT_CHAIN_COUNT', [...chains.start, ...chains.second, ...chains.rest]),
    refuse('two chains were swapped', 'EXPORT_CHAINS_DIFFER', [
      ...chains.start,
      ...chains.second,
      ...chains.first,
      ...chains.rest,
    ]),
    refuse('the last line of another export', 'EXPORT_CHAIN_COUNT', whole.with(-1, one.at(-1) as string)),
    refuse(
      'the numbers of the last line were changed',
      'EXPORT_NUMBERS_DIFFER',
      one.with(-1, JSON.stringify({ ...end, events: end.events + 1 })),
    ),
    refuse(
      'another key signed the last line',
      'EXPORT_NOT_SIGNED',
      endSigned(forged(String(end.signed), { organizationId: null })),
    ),
    refuse(
      'the last line has a signed tree head',
      'EXPORT_NOT_SIGNED',
      endSigned((lines[placeOf('checkpoint', -1)] as CheckpointLine).signed),
    ),
    refuse(
      'the last line is not signed',
      'EXPORT_WITHOUT_STATEMENT',
      one.with(-1, JSON.stringify({ kind: 'end', chains: end.chains, events: end.events })),
    ),
  ];
}

function keyCases(changes: ExportChanges, recorded: RecordedExports): AuditExportCase[] {
  const { refuse, changed, removed, swapped, placeOf, forged, lines } = changes;
  const { one, other } = recorded;
  const [newestKey, oldestKey] = [placeOf('key', 0), placeOf('key', -1)];
  return [
    refuse('the keys of another instance', 'KEY_NOT_TRUSTED', one, { jwks: other.jwks }),
    refuse('no key is trusted', 'KEY_NOT_TRUSTED', one, { jwks: { keys: [] } }),
    refuse('the newest key was removed', 'KEY_NOT_TRUSTED', removed('key', 0)),
    refuse('the oldest key was removed', 'FIRST_KEY_MISSING', removed('key', -1)),
    refuse('the keys were swapped', 'KEY_NOT_TRUSTED', swapped(newestKey, oldestKey)),
    refuse(
      'the keys were removed',
      'FIRST_KEY_MISSING',
      one.filter((_, place) => lines[place]?.kind !== 'key'),
    ),
    refuse(
      'a key after the first chain',
      'EXPORT_LINE_INVALID',
      one.toSpliced(-1, 0, one[oldestKey] as string),
    ),
    refuse(
      'the row of a key was changed',
      'KEY_ROW_DIFFERS',
      changed('key', 0, (line) => ({ ...line, at: '2001-01-01T00:00:00.000Z' })),
    ),
    refuse(
      'another key signed a new statement for a key',
      'KEY_NOT_TRUSTED',
      changed('key', 0, (line: KeyLine) => ({ ...line, signed: forged(line.signed) })),
    ),
  ];
}

function externalCases(changes: ExportChanges, recorded: RecordedExports): AuditExportCase[] {
  const { refuse } = changes;
  const { one, empty, other } = recorded;
  const checkpoint = JSON.stringify(recorded.checkpoint);
  const incomplete = { signed: (recorded.checkpoint as { signed: string }).signed };
  return [
    refuse('a checkpoint of another instance', 'EXTERNAL_CHECKPOINT_MISSING', one, {
      checkpoint: JSON.stringify(other.checkpoint),
    }),
    refuse('a checkpoint that is newer than the export', 'EXTERNAL_CHECKPOINT_MISSING', one, {
      checkpoint: JSON.stringify(recorded.laterCheckpoint),
    }),
    refuse('a checkpoint of another organization', 'EXTERNAL_CHECKPOINT_MISSING', empty, { checkpoint }),
    refuse('a checkpoint without its inclusion', 'EXTERNAL_CHECKPOINT_MISSING', one, {
      checkpoint: JSON.stringify(incomplete),
    }),
    refuse('the last line is missing, with a checkpoint', 'EXPORT_TRUNCATED', one.slice(0, -1), {
      checkpoint,
    }),
  ];
}

function anchorCases(changes: ExportChanges, recorded: RecordedExports): AuditExportCase[] {
  const { refuse, changed, placeOf, forged } = changes;
  const { anchored, shortened } = recorded;
  const anchorPlace = anchored.findIndex((text) => JSON.parse(text).kind === 'anchor');
  const anchor = JSON.parse(anchored[anchorPlace] as string);

  return [
    refuse('the anchor was removed', 'EVENT_MISSING', anchored.toSpliced(anchorPlace, 1)),
    refuse(
      'the anchor was removed, and links were dropped',
      'LINK_MISSING',
      shortened.toSpliced(anchorPlace, 1),
    ),
    refuse('an earlier anchor', 'LINK_MISSING', shortened.with(anchorPlace, anchored[anchorPlace] as string)),
    refuse(
      'an anchor was added, and an event removed',
      'EXPORT_CHAINS_DIFFER',
      changed('link', 0, (line) => ({ ...line, event: null })).toSpliced(
        placeOf('link', 0),
        0,
        anchored[anchorPlace] as string,
      ),
    ),
    refuse('a later anchor', 'LINK_MISSING', anchored.with(anchorPlace, shortened[anchorPlace] as string)),
    refuse(
      'another key signed an anchor with a later day',
      'ANCHOR_NOT_SIGNED',
      anchored.with(
        anchorPlace,
        JSON.stringify({
          ...anchor,
          signed: forged(anchor.signed, { droppedThrough: '2099-01-01' }),
        }),
      ),
    ),
    refuse(
      'the row of an anchor was changed',
      'ANCHOR_NOT_SIGNED',
      anchored.with(anchorPlace, JSON.stringify({ ...anchor, number: anchor.number + 1 })),
    ),
  ];
}
