/** Audit exports with proofs that the instance log has them, and checkpoints of the log that witnesses have cosigned. */
import { createHash } from 'node:crypto';
import type { EndLine, LogProofLine } from '../../../sdk/typescript/src/audit/export-lines.ts';
import { formatNote, parseNote } from '../../../sdk/typescript/src/transparency/note.ts';
import type { FindingCode } from '../../../src/features/audit/findings.ts';
import { type AuditExportCase, createExportChanges, type RecordedExports } from './export-changes.ts';

export const cosignedAt = [1_800_000_000, 1_800_000_007];
export const witnessNames = ['witness.example/one', 'zeuge.example/zwei'];
const isoOf = (seconds: number | undefined) => new Date((seconds ?? 0) * 1_000).toISOString();

const otherHash = createHash('sha256').update('another').digest('hex');

const kindsOf = (lines: readonly string[]) => lines.map((text) => JSON.parse(text).kind as string);
const proofIn = (lines: readonly string[]) =>
  JSON.parse(lines[kindsOf(lines).indexOf('logProof')] as string) as LogProofLine;
/** How many links are before the proof of their chain. */
export function provenLinks(lines: readonly string[]): number {
  let links = 0;
  let open = { organizationId: '', links: 0 };
  for (const { kind, organizationId } of lines.map((text) => JSON.parse(text))) {
    if (organizationId !== open.organizationId) open = { organizationId, links: 0 };
    if (kind === 'link') open.links += 1;
    if (kind === 'logProof') links += open.links;
  }
  return links;
}

/** The lines with each proof changed. */
export async function withProofs(
  lines: readonly string[],
  change: (line: LogProofLine, index: number) => object | Promise<object>,
): Promise<string[]> {
  let index = 0;
  const changed: string[] = [];
  for (const text of lines) {
    const line = JSON.parse(text);
    changed.push(line.kind === 'logProof' ? JSON.stringify(await change(line, index++)) : text);
  }
  return changed;
}

export async function logProofCases(recorded: RecordedExports): Promise<AuditExportCase[]> {
  const { logged } = recorded;
  const { key, witnesses, note } = logged.log;
  const { jwks } = logged;
  const log = { key, witnesses };
  const cosigned = (lines: readonly string[], by: readonly number[] = [0, 1]) =>
    withProofs(lines, async (line) => ({ ...line, checkpoint: await note(line.checkpoint, by) }));
  const one = await cosigned(logged.one);
  const whole = await cosigned(logged.whole);
  const later = await cosigned(logged.later);
  const { accept, refuse, changed, removed, placeOf, lines } = createExportChanges({ jwks, one });
  const proof = lines[placeOf('logProof', 0)] as LogProofLine;
  const end = lines.at(-1) as EndLine;

  const witnessed = (exported: readonly string[], by: readonly number[] = [0, 1], quorum = by.length) => ({
    checkpointSize: proofIn(exported).treeSize,
    time: isoOf(cosignedAt[by[quorum - 1] as number]),
    witnesses: by.map((each) => witnessNames[each]),
    events: provenLinks(exported),
  });
  const afterProof = later.slice(kindsOf(later).indexOf('logProof'));
  const withNote = (text: string) => changed('logProof', 0, (line) => ({ ...line, checkpoint: text }));
  const changedProof = (
    name: string,
    change: (line: LogProofLine) => object,
    problem: FindingCode = 'LOG_PROOF_INVALID',
  ) => refuse(name, problem, changed('logProof', 0, change));

  const parsed = parseNote(proof.checkpoint);
  const without = (name: string) =>
    formatNote({ ...parsed, signatures: parsed.signatures.filter((each) => each.name !== name) });
  const forked = await note(proof.checkpoint, [0, 1], { root: otherHash });
  const smaller = await note(proof.checkpoint, [0, 1], { size: proof.treeSize - 1 });
  const withoutLog = formatNote({ ...parsed, signatures: parsed.signatures.slice(1) });
  const timeChanged = formatNote({
    ...parsed,
    signatures: parsed.signatures.map((each) =>
      each.name === witnessNames[0]
        ? { ...each, payload: each.payload.map((byte, at) => (at === 7 ? byte ^ 1 : byte)) }
        : each,
    ),
  });
  const otherOrigin = proof.checkpoint.replaceAll('id.example.com/log', 'id.example.com/log-2');
  const twoNotes = (second: string) =>
    withProofs(whole, (line, index) => (index === 1 ? { ...line, checkpoint: second } : line));
  const otherChain = JSON.parse(
    whole.find((text) => {
      const { kind, organizationId } = JSON.parse(text);
      return kind === 'logProof' && organizationId !== proof.organizationId;
    }) as string,
  ) as LogProofLine;
  const [, , rootLine] = parsed.text.split('\n') as [string, string, string];
  const rootChanged = proof.checkpoint.replace(rootLine, Buffer.from(otherHash, 'hex').toString('base64'));

  return [
    accept('version 1', recorded.one.with(0, '{"kind":"export","version":1}'), { jwks: recorded.jwks }),
    accept('with a proof of the log', one),
    accept('with the key of the log', one, { log: { key, witnesses: [] } }),
    accept('with two witnesses', one, { log, witnessed: witnessed(one) }),
    accept('with a quorum of one, reached by the earliest', one, {
      log: { ...log, quorum: 1 },
      witnessed: witnessed(one, [0, 1], 1),
    }),
    accept('with a quorum of one, and one cosignature', await cosigned(logged.one, [1]), {
      log: { ...log, quorum: 1 },
      witnessed: witnessed(one, [1]),
    }),
    accept('with a cosignature of a witness that is not known', one, {
      log: { key, witnesses: [witnesses[0]] },
      witnessed: witnessed(one, [0]),
    }),
    accept('without cosignatures, with the key of the log', logged.one, { log: { key, witnesses: [] } }),
    accept('several organizations, with two witnesses', whole, { log, witnessed: witnessed(whole) }),
    accept('with events that are newer than the checkpoint of the log', later, {
      log,
      witnessed: witnessed(later),
    }),

    changedProof('the organization of a proof was changed', (line) => ({
      ...line,
      organizationId: otherChain.organizationId,
    })),
    changedProof('the checkpoint of a proof was changed', ({ number, ...line }) => ({
      ...line,
      number: number - 1,
    })),
    changedProof('the tree head of a proof was changed', ({ treeHead, ...line }) => ({
      ...line,
      treeHead: treeHead - 1,
    })),
    changedProof('the leaf of a proof was changed', ({ leafIndex, ...line }) => ({
      ...line,
      leafIndex: leafIndex - 1,
    })),
    changedProof('the leaf of a proof is not a whole number', ({ leafIndex, ...line }) => ({
      ...line,
      leafIndex: leafIndex - 0.5,
    })),
    changedProof('the tree size of a proof was changed', ({ treeSize, ...line }) => ({
      ...line,
      treeSize: treeSize + 1,
    })),
    changedProof('a node of a proof of the log was changed', (line) => ({
      ...line,
      proof: line.proof.with(0, otherHash),
    })),
    changedProof('a node of a proof of the log was removed', (line) => ({
      ...line,
      proof: line.proof.slice(1),
    })),
    changedProof('a proof of the log is too long', (line) => ({
      ...line,
      proof: [...line.proof, otherHash],
    })),
    changedProof('a node of a proof of the log has capital letters', (line) => ({
      ...line,
      proof: line.proof.with(0, (line.proof[0] as string).toUpperCase()),
    })),
    changedProof('the note of the log is not one', (line) => ({ ...line, checkpoint: 'note' })),
    changedProof('the note of the log has another root', (line) => ({ ...line, checkpoint: forked })),
    changedProof('the note of the log has another size', (line) => ({ ...line, checkpoint: smaller })),
    changedProof('a proof of another chain', () => ({ ...otherChain })),
    changedProof('a proof of another chain, under this one', () => ({
      ...otherChain,
      organizationId: proof.organizationId,
    })),
    changedProof('an unknown field of a proof', (line) => ({ ...line, note: 'x' }), 'EXPORT_FIELD_UNKNOWN'),
    changedProof('a proof is no list', (line) => ({ ...line, proof: 'x' }), 'EXPORT_LINE_INVALID'),
    changedProof(
      'a proof has a number as a node',
      (line) => ({ ...line, proof: [1] }),
      'EXPORT_LINE_INVALID',
    ),
    changedProof('a proof without its nodes', ({ proof: _, ...line }) => line, 'EXPORT_LINE_INVALID'),
    changedProof(
      'a proof with a text as its leaf',
      (line) => ({ ...line, leafIndex: String(line.leafIndex) }),
      'EXPORT_LINE_INVALID',
    ),
    refuse(
      'a field of a proof is there twice',
      'EXPORT_FIELD_REPEATED',
      one.with(
        placeOf('logProof', 0),
        (one[placeOf('logProof', 0)] as string).replace('"treeSize":', '"treeSize":1,"treeSize":'),
      ),
    ),
    refuse(
      'a proof of the log in version 1',
      'EXPORT_LINE_INVALID',
      one.with(0, '{"kind":"export","version":1}'),
    ),
    refuse(
      'a proof is there twice',
      'LOG_PROOF_INVALID',
      one.toSpliced(placeOf('logProof', 0), 0, one[placeOf('logProof', 0)] as string),
    ),
    refuse(
      'a proof before its checkpoint',
      'LOG_PROOF_INVALID',
      removed('logProof', 0).toSpliced(placeOf('checkpoint', -1), 0, one[placeOf('logProof', 0)] as string),
    ),
    refuse('a proof after a later checkpoint', 'LOG_PROOF_INVALID', [
      ...later.filter((text) => text !== afterProof[0]).slice(0, -1),
      afterProof[0] as string,
      later.at(-1) as string,
    ]),
    refuse('a proof after the last line', 'EXPORT_CONTINUES', [
      ...removed('logProof', 0),
      one[placeOf('logProof', 0)] as string,
    ]),
    refuse('a proof before the first chain', 'LOG_PROOF_INVALID', [
      ...one.slice(0, placeOf('link', 0)),
      one[placeOf('logProof', 0)] as string,
      ...one.slice(placeOf('link', 0)),
    ]),
    refuse('two notes of one size with different roots', 'LOG_FORKED', await twoNotes(forked)),
    refuse(
      'two notes of one size with different roots, with witnesses',
      'LOG_FORKED',
      await twoNotes(forked),
      { log },
    ),
    refuse('two notes of different sizes', 'LOG_PROOF_INVALID', await twoNotes(smaller), { log }),
    refuse(
      'two notes with different cosignatures',
      'LOG_PROOF_INVALID',
      await twoNotes(without(witnessNames[1] as string)),
    ),

    refuse('the proof was removed, with witnesses', 'LOG_QUORUM_MISSING', removed('logProof', 0), { log }),
    refuse('the proof was removed, with the key of the log', 'LOG_QUORUM_MISSING', removed('logProof', 0), {
      log: { key, witnesses: [] },
    }),
    refuse(
      'the proof of one of several organizations was removed',
      'LOG_QUORUM_MISSING',
      whole.filter((text) => text !== JSON.stringify(otherChain)),
      { log },
    ),
    refuse('no events, with witnesses', 'LOG_QUORUM_MISSING', logged.empty, { log }),
    refuse('no witness has cosigned', 'LOG_QUORUM_MISSING', logged.one, { log }),
    refuse(
      'one of two witnesses has cosigned',
      'LOG_QUORUM_MISSING',
      withNote(without(witnessNames[0] as string)),
      {
        log,
      },
    ),
    refuse(
      'the note of the log is of a fork that the witnesses have cosigned',
      'LOG_PROOF_INVALID',
      withNote(forked),
      {
        log,
      },
    ),
    refuse('the time of a cosignature was changed', 'LOG_CHECKPOINT_NOT_SIGNED', withNote(timeChanged), {
      log,
    }),
    refuse(
      'the time of one cosignature was changed, and the other is enough',
      'LOG_CHECKPOINT_NOT_SIGNED',
      withNote(timeChanged),
      {
        log: { ...log, quorum: 1 },
      },
    ),
    refuse('the log has not signed its note', 'LOG_CHECKPOINT_NOT_SIGNED', withNote(withoutLog), { log }),
    refuse('the note names another log', 'LOG_CHECKPOINT_NOT_SIGNED', withNote(otherOrigin), { log }),
    refuse('another key of the log', 'LOG_CHECKPOINT_NOT_SIGNED', one, {
      log: { key: logged.log.otherKey, witnesses },
    }),
    refuse('the key of a log with another name', 'LOG_CHECKPOINT_NOT_SIGNED', one, {
      log: { key: logged.log.foreignKey, witnesses },
    }),
    refuse('the root of the note was changed', 'LOG_CHECKPOINT_NOT_SIGNED', withNote(rootChanged), { log }),
    refuse(
      'the numbers of the last line were changed, with witnesses',
      'EXPORT_NUMBERS_DIFFER',
      [...one.slice(0, -1), JSON.stringify({ ...end, events: end.events + 1 })],
      { log },
    ),
  ];
}
