/**
 * The export: the log with all its evidence as JSON lines, to keep or to verify elsewhere. The keys come first, then for
 * each organization its anchor, links with events, and checkpoints; last comes the signed manifest. After the newest checkpoint of an
 * organization that the instance log has, a line proves that it is there. The export of a day has one organization, and goes on from
 * its last checkpoint before that day.
 */

import { type ExportLine, exportVersion } from '../../../../sdk/typescript/src/audit/export-lines.ts';
import {
  type ExportManifest,
  emptyManifest,
  withChain,
} from '../../../../sdk/typescript/src/audit/manifest.ts';
import { type Clock, isoTime } from '../../../kernel/clock.ts';
import type { Db, Queryable } from '../../../kernel/data/db.ts';
import type { Signer } from '../../../kernel/ports/signer.ts';
import { printableJson } from '../../../kernel/printable-json.ts';
import type { LogEvidence } from '../../instance-log/feature.ts';
import { createEventStream } from '../chain/event-stream.ts';
import { takeSnapshot } from '../chain/evidence-store.ts';
import { linkHash, storedLength } from '../chain/hashes.ts';
import { readKeys } from '../chain/keys/keys-store.ts';
import {
  findAnchoredOrganizations,
  findOrganizationsWithChain,
  findSize,
  lastCheckpointBeforeDay,
  newestAnchor,
  readSegments,
} from '../chain/segments-store.ts';
import { type Anchor, type CheckpointRow, sign, unverifiedClaims } from '../chain/statements.ts';
import { emptyHead, headAtAnchor, headOf } from '../chain/verify-chain.ts';
import { printLinks } from './links.ts';
import { type LogProof, openLog, type ProveInLog } from './log-proofs.ts';

const segmentsPerPage = 200;
/** Between two parts other work gets its turn. */
const linksPerPart = 100;

/** Some lines of an export, printed as JSON. Verification hashes the texts that the lines contain, not the lines. */
export interface ExportPart {
  readonly texts: readonly string[];
  /** How many of them are links. */
  readonly links: number;
  /** `start`: before the first chain. */
  readonly place: 'start' | 'chain' | 'end';
}

export interface ExportOptions {
  /** Every organization when left out. */
  readonly organizationId?: string | undefined;
  write(part: ExportPart): Promise<void>;
  onProgress?(events: number): void;
}

export interface ExportDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly signer: Signer;
  /** Without it, an export has no proofs of the instance log. */
  readonly logEvidence?: LogEvidence | undefined;
  /** The same function for a reader that verifies the export while it is made. */
  readonly hashLink?: typeof linkHash | undefined;
}

/** A closed day of an organization. */
export interface ExportDay {
  readonly organizationId: string;
  /** YYYY-MM-DD: that of the checkpoints (`linkedOn`), in UTC. */
  readonly day: string;
}

/** For a file of our own: reads in one snapshot. Returns the number of links. */
export function exportLog(deps: ExportDeps, { write, onProgress, ...scope }: ExportOptions): Promise<number> {
  const at = isoTime(deps.clock);
  return deps.db.transaction(async (tx) => {
    await takeSnapshot(tx);
    let events = 0;
    for await (const part of partsOf(deps, tx, at, scope)) {
      await write(part);
      events += part.links;
      if (part.links > 0) onProgress?.(events);
    }
    return events;
  });
}

/**
 * For a client: no transaction stays open while the client reads slowly. A chain only grows, and each is read up to the end that
 * it has when its turn comes. If retention drops a part of it before the end, the export fails.
 */
export function exportParts(
  deps: ExportDeps,
  organizationId: string | undefined,
): AsyncGenerator<ExportPart, void> {
  return partsOf(deps, deps.db, isoTime(deps.clock), { organizationId });
}

/**
 * The export of one organization's day. Link all events of the day before. It fails for a day that is not over, and for one whose events
 * retention has dropped. It uses one database connection at a time.
 */
export function dayParts(
  deps: ExportDeps,
  { organizationId, day }: ExportDay,
): AsyncGenerator<ExportPart, void> {
  const at = isoTime(deps.clock);
  if (at.slice(0, 10) <= day) throw new RangeError(`the day ${day} is not over`);
  return partsOf(deps, oneAtATime(deps.db), at, { organizationId, day });
}

interface Scope {
  readonly organizationId?: string | undefined;
  readonly day?: string | undefined;
}

async function* partsOf(
  { signer, logEvidence, hashLink = linkHash }: ExportDeps,
  tx: Queryable,
  at: string,
  { organizationId, day }: Scope,
): AsyncGenerator<ExportPart, void> {
  const keys = await readKeys(tx);
  const header: ExportLine[] = [
    { kind: 'export', version: exportVersion },
    ...keys.map((row) => ({ kind: 'key' as const, ...row })),
  ];
  yield { texts: header.map((line) => printableJson(line)), links: 0, place: 'start' };
  const proveInLog = await openLog(tx, logEvidence);
  let manifest = emptyManifest;
  for (const chain of organizationId === undefined ? await allChains(tx) : [organizationId])
    manifest = yield* partsOfChain(tx, { organizationId: chain, day, proveInLog, hashLink }, manifest);
  const { chains, events, hash } = manifest;
  const statement = {
    ...{ at, organizationId: organizationId ?? null, chains, events, contents: hash },
    ...(day !== undefined && { day }),
  };
  const end: ExportLine = { kind: 'end', chains, events, signed: await sign(signer, 'export', statement) };
  yield { texts: [printableJson(end)], links: 0, place: 'end' };
}

/** Including chains of which retention left only the anchor. */
const allChains = async (tx: Queryable): Promise<string[]> =>
  [...new Set([...(await findOrganizationsWithChain(tx)), ...(await findAnchoredOrganizations(tx))])].sort();

/** Returns the manifest with this chain. An organization without anchor and checkpoint has no chain. */
async function* partsOfChain(
  tx: Queryable,
  { organizationId, day, proveInLog, hashLink }: ChainScope,
  manifest: ExportManifest,
): AsyncGenerator<ExportPart, ExportManifest> {
  const part = createPart();
  const anchor = await newestAnchor(tx, organizationId);
  const end = (await findSize(tx, organizationId)) ?? 0;
  if (anchor) part.add({ kind: 'anchor', organizationId, ...anchor });
  const claims = anchor && unverifiedClaims('anchor', anchor.signed);
  const start = day === undefined ? undefined : await startOfDay(tx, organizationId, day, claims);
  if (start) part.add({ kind: 'start', ...lineOf(start), takenOn: start.at.slice(0, 10) });
  let from = start ? headOf(start) : claims ? headAtAnchor(claims) : emptyHead(organizationId);
  let { head } = from;
  let { events } = manifest;
  /** The newest checkpoint so far that the log has, until its proof is written. */
  let inLog: LogProof | undefined;
  const stream = createEventStream(tx, organizationId);
  try {
    for (;;) {
      const page = (await readSegments(tx, organizationId, from, segmentsPerPage)).filter(
        ({ size, takenOn }) => size <= end && (day === undefined || takenOn === day),
      );
      for (const segment of page) {
        const { records, ...checkpoint } = segment;
        const proof = proveInLog(checkpoint);
        if (!proof) part.add(await inLog?.());
        inLog = proof;
        const before = segment.size - Math.floor(records.length / storedLength);
        for (let at = 0; at < records.length; at += linksPerPart * storedLength) {
          const sequence = before + at / storedLength;
          const place = { organizationId, linkedOn: segment.takenOn, sequence, head };
          const stored = records.slice(at, at + linksPerPart * storedLength);
          const links = await printLinks({ db: tx, stream, hashLink }, place, stored);
          head = links.head;
          events += links.texts.length;
          part.addLinks(links.texts);
          if (part.isFull()) yield part.take();
        }
        part.add({ kind: 'checkpoint', ...lineOf(checkpoint) });
        from = { ...checkpoint, hash: null };
      }
      if (page.length === 0) break;
    }
  } finally {
    await stream.close();
  }
  part.add(await inLog?.());
  if (!part.isEmpty()) yield part.take();
  if (!anchor && from.number === 0) return manifest;
  if ((await newestAnchor(tx, organizationId))?.number !== anchor?.number)
    throw new Error('retention dropped a part of the audit log while it was exported');
  const droppedThrough = claims?.droppedThrough ?? '';
  return withChain({ ...manifest, events }, { organizationId, droppedThrough, head: from.head });
}

/** Collects lines of a chain. */
function createPart() {
  let texts: string[] = [];
  let links = 0;
  return {
    add(line: ExportLine | undefined) {
      if (line) texts.push(printableJson(line));
    },
    addLinks(more: readonly string[]) {
      texts.push(...more);
      links += more.length;
    },
    isFull: () => texts.length >= linksPerPart,
    isEmpty: () => texts.length === 0,
    take(): ExportPart {
      const part = { texts, links, place: 'chain' } as const;
      texts = [];
      links = 0;
      return part;
    },
  };
}

interface ChainScope {
  readonly organizationId: string;
  readonly day: string | undefined;
  readonly proveInLog: ProveInLog;
  readonly hashLink: typeof linkHash;
}

const lineOf = <Row extends CheckpointRow>({ inclusion, ...checkpoint }: Row) => ({
  ...checkpoint,
  ...(inclusion && { inclusion }),
});

/** The last checkpoint before a day; undefined when the day begins the chain, or what retention left of it. */
async function startOfDay(
  tx: Queryable,
  organizationId: string,
  day: string,
  anchor: Anchor | undefined,
): Promise<CheckpointRow | undefined> {
  if (anchor && anchor.droppedThrough >= day)
    throw new RangeError(`retention has dropped the events through ${anchor.droppedThrough}`);
  const last = await lastCheckpointBeforeDay(tx, organizationId, day);
  return last && last.number > (anchor?.checkpoint.number ?? 0) ? last : undefined;
}

/** Of several queries at once, the next one waits for the one before: they share one connection. */
function oneAtATime(db: Queryable): Queryable {
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(query: () => Promise<T>): Promise<T> => {
    const result = last.then(query);
    last = result.catch(() => {});
    return result;
  };
  return {
    many: (name, query) => inTurn(() => db.many(name, query)),
    one: (name, query) => inTurn(() => db.one(name, query)),
    maybe: (name, query) => inTurn(() => db.maybe(name, query)),
    run: (name, query) => inTurn(() => db.run(name, query)),
  };
}
