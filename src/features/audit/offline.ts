/** Checking an export without the instance: the same rules as walk.ts, line by line, with nothing but a public key. */
import type { PublicKey, ReadStatement } from '../../kernel/signer.ts';
import type { Finding } from './alarm.ts';
import { eventHash, type Link, linkHash, linkRecord, microseconds, type StoredEvent } from './chain.ts';
import type { AnchorRow } from './evidence-store.ts';
import { exportVersion } from './export.ts';
import type { CheckpointRow } from './links-store.ts';
import { afterAnchor, agrees, beginningOf, isGenuine, type Position, positionOf } from './positions.ts';
import { claimed, readSigned } from './statements.ts';
import { type KeyRow, type Trust, trustFrom } from './trust.ts';

type EventText = Pick<StoredEvent, 'canonical' | 'appendedIn' | 'seal'>;
type Line =
  | { kind: 'export'; version: number }
  | ({ kind: 'key' } & KeyRow)
  | ({ kind: 'anchor'; organizationId: string } & AnchorRow)
  | ({ kind: 'link'; organizationId: string; event: EventText | null } & Link)
  | ({ kind: 'checkpoint'; takenOn: string } & CheckpointRow)
  | { kind: 'end'; events: number };

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

export async function verifyExport(
  lines: AsyncIterable<string>,
  { roots, read, kept, onProgress }: OfflineOptions,
): Promise<OfflineVerdict> {
  const keys: KeyRow[] = [];
  let trust: Trust | undefined;
  let chain: Chain | undefined;
  let events = 0;
  let chains = 0;
  let keptSeen = kept === undefined;
  let ended = false;

  const open = (organizationId: string, position: Position, droppedThrough = ''): Chain => {
    chains += 1;
    return {
      organizationId,
      droppedThrough,
      position,
      sequence: position.size,
      head: position.head,
      last: undefined,
    };
  };
  /** The chain before is over: its last checkpoint must be signed, and the last thing there is. */
  const close = async (): Promise<string | undefined> => {
    if (!chain) return undefined;
    if (chain.sequence > chain.position.size) return 'there are links that no checkpoint covers';
    if (chain.last && !(await isGenuine(read, chain.last, trust?.keys ?? [])))
      return `checkpoint ${chain.last.number} is not what a trusted key has signed`;
    return undefined;
  };
  const switchTo = async (organizationId: string): Promise<string | undefined> => {
    if (chain?.organizationId === organizationId) return undefined;
    const problem = await close();
    if (problem === undefined) chain = open(organizationId, beginningOf(organizationId));
    return problem;
  };

  const take = async (line: Line): Promise<string | undefined> => {
    if (line.kind === 'export')
      return line.version === exportVersion ? undefined : `the export is of version ${line.version}`;
    if (line.kind === 'key') {
      keys.push(line);
      return undefined;
    }
    trust ??= await trustFrom(read, roots, keys);
    if (trust.problem !== undefined) return trust.problem;
    if (line.kind === 'end') {
      ended = true;
      return line.events === events
        ? undefined
        : `the export speaks of ${line.events} events and has ${events}`;
    }
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
    events += 1;
    if (events % 1_000 === 0) onProgress?.(events);
    return linkProblem(chain, line);
  };

  for await (const text of lines) {
    if (text === '') continue;
    const line = parse(text);
    const problem = line ? await take(line) : 'a line of the export is not JSON';
    if (problem === undefined) continue;
    const about = line as { organizationId?: string; sequence?: number; eventId?: string } | undefined;
    const { organizationId, sequence, eventId } = about ?? {};
    return { events, chains, finding: { organizationId, sequence, eventId, problem } };
  }
  const problem =
    (await close()) ??
    (ended ? undefined : 'the export is not complete') ??
    (keptSeen ? undefined : 'the checkpoint that was kept is not part of the log');
  return problem === undefined
    ? { events, chains }
    : { events, chains, finding: { organizationId: chain?.organizationId, problem } };
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
