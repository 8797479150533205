/** Checking an export without the instance: the same rules as walk.ts, line by line, with nothing but a public key. */
import type { PublicKey, ReadStatement } from '../../../kernel/ports/signer.ts';
import type { Finding } from '../alarm.ts';
import {
  afterAnchor,
  agrees,
  beginningOf,
  isGenuine,
  type Position,
  positionOf,
} from '../chain/chain-heads.ts';
import {
  eventHash,
  type Link,
  linkHash,
  linkRecord,
  microseconds,
  type StoredEvent,
} from '../chain/hashes.ts';
import { type KeyRow, type Trust, trustFrom } from '../chain/keys/trusted-keys.ts';
import type { CheckpointRow } from '../chain/links-store.ts';
import { claimed, type ExportStatement, readSigned } from '../chain/statements.ts';
import { exportVersion } from '../export/export.ts';
import { contentsProblem, noContents, withChain, withEvent } from '../export/manifest.ts';
import type { AnchorRow } from './evidence-store.ts';

type EventText = Pick<StoredEvent, 'canonical' | 'appendedIn' | 'seal'>;
type Line =
  | { kind: 'export'; version: number }
  | ({ kind: 'key' } & KeyRow)
  | ({ kind: 'anchor'; organizationId: string } & AnchorRow)
  | ({ kind: 'link'; organizationId: string; event: EventText | null } & Link)
  | ({ kind: 'checkpoint'; takenOn: string } & CheckpointRow)
  | EndLine;
/** Earlier versions signed nothing here. */
type EndLine = { kind: 'end'; chains: number; events: number; signed?: string };

export interface OfflineOptions {
  readonly roots: readonly PublicKey[];
  readonly read: ReadStatement;
  /** The text of a checkpoint that was kept elsewhere. */
  readonly kept?: string | undefined;
  onProgress?(events: number): void;
}

export interface OfflineVerdict {
  readonly events: number;
  readonly chains: number;
  /** What was signed for the whole. Without it nobody knows of chains that are not there, however sound the others are. */
  readonly statement?: ExportStatement;
  readonly finding?: Finding;
}

interface Chain {
  readonly organizationId: string;
  readonly droppedThrough: string;
  position: Position;
  sequence: number;
  head: string;
  last: CheckpointRow | undefined;
}

const open = (organizationId: string, position: Position, droppedThrough = ''): Chain => ({
  organizationId,
  droppedThrough,
  position,
  sequence: position.size,
  head: position.head,
  last: undefined,
});

export async function verifyExport(
  lines: AsyncIterable<string>,
  { roots, read, kept, onProgress }: OfflineOptions,
): Promise<OfflineVerdict> {
  const keys: KeyRow[] = [];
  let trust: Trust | undefined;
  let chain: Chain | undefined;
  let contents = noContents;
  let keptSeen = kept === undefined;
  let ended = false;
  let statement: ExportStatement | undefined;

  /** The chain before is over: its last checkpoint must be signed, and the last thing there is. */
  const close = async (): Promise<string | undefined> => {
    if (!chain) return undefined;
    if (chain.sequence > chain.position.size) return 'there are links that no checkpoint covers';
    if (chain.last && !(await isGenuine(read, chain.last, trust?.keys ?? [])))
      return `checkpoint ${chain.last.number} is not what a trusted key has signed`;
    contents = withChain(contents, chain);
    chain = undefined;
    return undefined;
  };
  const switchTo = async (organizationId: string): Promise<string | undefined> => {
    if (chain?.organizationId === organizationId) return undefined;
    const problem = await close();
    if (problem === undefined) chain = open(organizationId, beginningOf(organizationId));
    return problem;
  };
  const end = async (line: EndLine, { keys }: Trust): Promise<string | undefined> => {
    const problem = await close();
    if (problem !== undefined) return problem;
    ended = true;
    if (line.signed === undefined)
      return line.events === contents.events
        ? undefined
        : `the export speaks of ${line.events} events and has ${contents.events}`;
    statement = await readSigned(read, 'export', line.signed, keys);
    return statement
      ? contentsProblem(line, statement, contents)
      : 'the last line of the export is not what a trusted key has signed';
  };

  const take = async (line: Line): Promise<string | undefined> => {
    if (ended) return 'there is more behind the end of the export';
    if (line.kind === 'export')
      return line.version === exportVersion ? undefined : `the export is of version ${line.version}`;
    if (line.kind === 'key') {
      keys.push(line);
      return undefined;
    }
    trust ??= await trustFrom(read, roots, keys);
    if (trust.problem !== undefined) return trust.problem;
    if (line.kind === 'end') return end(line, trust);
    if (line.kind === 'anchor') {
      const problem = await close();
      if (problem !== undefined) return problem;
      const anchor = await readSigned(read, 'anchor', line.signed, trust.keys);
      if (anchor?.organizationId !== line.organizationId)
        return 'the anchor is not what a trusted key has signed';
      chain = open(line.organizationId, afterAnchor(anchor), anchor.droppedThrough);
      return undefined;
    }
    const problem = await switchTo(line.organizationId);
    if (problem !== undefined || !chain) return problem;
    if (line.kind === 'checkpoint') {
      if (line.signed === kept) keptSeen = true;
      return checkpointProblem(chain, line);
    }
    contents = withEvent(contents);
    if (contents.events % 1_000 === 0) onProgress?.(contents.events);
    return linkProblem(chain, line);
  };

  const verdict = (finding: Finding | undefined): OfflineVerdict => ({
    events: contents.events,
    chains: contents.chains,
    ...(statement && { statement }),
    ...(finding && { finding }),
  });

  for await (const text of lines) {
    if (text === '') continue;
    const line = parse(text);
    const problem = line ? await take(line) : 'a line of the export is not JSON';
    if (problem === undefined) continue;
    const about = (line ?? {}) as { organizationId?: string; sequence?: number; eventId?: string };
    const { organizationId, sequence, eventId } = about;
    // A chain that is still open when another line comes is the one that could not be closed.
    if (chain && chain.organizationId !== organizationId)
      return verdict({ organizationId: chain.organizationId, problem });
    return verdict({ organizationId, sequence, eventId, problem });
  }
  if (!ended)
    return verdict({
      organizationId: chain?.organizationId,
      problem: 'the export is not complete: its last line is missing',
    });
  return verdict(keptSeen ? undefined : { problem: 'the checkpoint that was kept is not part of the log' });
}

function parse(text: string): Line | undefined {
  try {
    const line = JSON.parse(text);
    return typeof line?.kind === 'string' ? line : undefined;
  } catch {
    return undefined;
  }
}

function checkpointProblem(chain: Chain, row: CheckpointRow): string | undefined {
  const { position, sequence, head } = chain;
  const right =
    row.number === position.number + 1 &&
    row.previous === position.hash &&
    row.size === sequence &&
    row.head === head &&
    row.at >= position.at &&
    agrees(row, claimed('checkpoint', row.signed));
  if (!right) return `checkpoint ${position.number + 1} is missing or does not follow from what is before it`;
  chain.position = positionOf(row);
  chain.last = row;
  return undefined;
}

function linkProblem(chain: Chain, line: Link & { event: EventText | null }): string | undefined {
  const sequence = chain.sequence + 1;
  if (line.sequence !== sequence)
    return `link ${sequence} is missing; number ${line.sequence} is in its place`;
  if (linkHash(chain.head, linkRecord(line)) !== line.hash)
    return 'the link does not follow from the one before it';
  if (line.event) {
    if (eventHash(line.event) !== line.eventHash)
      return 'the text of the event is not what it was when it was linked';
    if (!isAbout(line.event.canonical, chain.organizationId, line))
      return 'the text is that of another event';
  } else if (line.time.slice(0, 10) > chain.droppedThrough) return 'the event is gone';
  chain.sequence = sequence;
  chain.head = line.hash;
  return undefined;
}

function isAbout(canonical: string, organizationId: string, { eventId, time }: Link): boolean {
  try {
    const said = JSON.parse(canonical);
    return (
      said.organizationId === organizationId &&
      said.eventId === eventId &&
      microseconds(said.timestamp) === time
    );
  } catch {
    return false;
  }
}
