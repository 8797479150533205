/**
 * The export: the log with all its evidence as JSON lines, to keep or to verify elsewhere. The keys come first, then for
 * each organization its anchor, links with events, and checkpoints; last comes the signed manifest. After the newest checkpoint of an
 * organization that the instance log has, a line proves that it is there. The export of a day has one organization, and goes on from
 * its last checkpoint before that day.
 */

import {
  type ExportLine,
  exportVersion,
  type LinkLine,
} from '../../../../sdk/typescript/src/audit/export-lines.ts';
import {
  type ExportManifest,
  emptyManifest,
  withChain,
  withEvent,
} from '../../../../sdk/typescript/src/audit/manifest.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { Db, Queryable } from '../../../kernel/data/db.ts';
import type { Signer } from '../../../kernel/ports/signer.ts';
import type { LogEvidence } from '../../instance-log/feature.ts';
import { readLinkedEvents, takeSnapshot } from '../chain/evidence-store.ts';
import { eventHashIn, eventIdIn, linkHash, recordAt, storedLength, timeTextIn } from '../chain/hashes.ts';
import { readKeys } from '../chain/keys/keys-store.ts';
import {
  findAnchoredOrganizations,
  findOrganizationsWithChain,
  findSize,
  lastCheckpointBeforeDay,
  newestAnchor,
  readSegments,
  type SegmentRow,
} from '../chain/segments-store.ts';
import { type Anchor, type CheckpointRow, sign, unverifiedClaims } from '../chain/statements.ts';
import { emptyHead, headAtAnchor, headOf } from '../chain/verify-chain.ts';
import { type LogProof, openLog, type ProveInLog, proofLine } from './log-proofs.ts';

const segmentsPerPage = 200;
const linksPerPage = 1_000;

export interface ExportOptions {
  /** Every organization when left out. */
  readonly organizationId?: string | undefined;
  write(line: object): Promise<void>;
  onProgress?(events: number): void;
}

export interface ExportDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly signer: Signer;
  /** Without it, an export has no proofs of the instance log. */
  readonly logEvidence?: LogEvidence | undefined;
}

/** A closed day of an organization. */
export interface ExportDay {
  readonly organizationId: string;
  /** YYYY-MM-DD: that of the checkpoints (`linkedOn`), in UTC. */
  readonly day: string;
}

/** For a file of our own: reads in one snapshot. Returns the number of links. */
export function exportLog(deps: ExportDeps, options: ExportOptions): Promise<number> {
  const at = new Date(deps.clock.now()).toISOString();
  return deps.db.transaction(async (tx) => {
    await takeSnapshot(tx);
    let events = 0;
    for await (const line of linesOf(deps, tx, at, options)) {
      await options.write(line);
      if (line.kind !== 'link') continue;
      events += 1;
      if (events % linksPerPage === 0) options.onProgress?.(events);
    }
    return events;
  });
}

/**
 * For a client: no transaction stays open while the client reads slowly. A chain only grows, and each is read up to the end that
 * it has when its turn comes. If retention drops a part of it before the end, the export fails.
 */
export function exportLines(
  deps: ExportDeps,
  organizationId: string | undefined,
): AsyncGenerator<ExportLine> {
  return linesOf(deps, deps.db, new Date(deps.clock.now()).toISOString(), { organizationId });
}

/**
 * The export of one organization's day. Link all events of the day before. It fails for a day that is not over, and for one whose events
 * retention has dropped.
 */
export function dayLines(deps: ExportDeps, { organizationId, day }: ExportDay): AsyncGenerator<ExportLine> {
  const at = new Date(deps.clock.now()).toISOString();
  if (at.slice(0, 10) <= day) throw new RangeError(`the day ${day} is not over`);
  return linesOf(deps, deps.db, at, { organizationId, day });
}

interface Scope {
  readonly organizationId?: string | undefined;
  readonly day?: string | undefined;
}

async function* linesOf(
  { signer, logEvidence }: ExportDeps,
  tx: Queryable,
  at: string,
  { organizationId, day }: Scope,
): AsyncGenerator<ExportLine> {
  yield { kind: 'export', version: exportVersion };
  for (const row of await readKeys(tx)) yield { kind: 'key', ...row };
  const proveInLog = await openLog(tx, logEvidence);
  let manifest = emptyManifest;
  for (const chain of organizationId === undefined ? await allChains(tx) : [organizationId])
    manifest = yield* linesOfChain(tx, { organizationId: chain, day, proveInLog }, manifest);
  const { chains, events, hash } = manifest;
  const statement = {
    ...{ at, organizationId: organizationId ?? null, chains, events, contents: hash },
    ...(day !== undefined && { day }),
  };
  yield { kind: 'end', chains, events, signed: await sign(signer, 'export', statement) };
}

/** Including chains of which retention left only the anchor. */
const allChains = async (tx: Queryable): Promise<string[]> =>
  [...new Set([...(await findOrganizationsWithChain(tx)), ...(await findAnchoredOrganizations(tx))])].sort();

/** Returns the manifest with this chain. An organization without anchor and checkpoint has no chain. */
async function* linesOfChain(
  tx: Queryable,
  { organizationId, day, proveInLog }: ChainScope,
  before: ExportManifest,
): AsyncGenerator<ExportLine, ExportManifest> {
  const anchor = await newestAnchor(tx, organizationId);
  const end = (await findSize(tx, organizationId)) ?? 0;
  if (anchor) yield { kind: 'anchor', organizationId, ...anchor };
  const claims = anchor && unverifiedClaims('anchor', anchor.signed);
  const start = day === undefined ? undefined : await startOfDay(tx, organizationId, day, claims);
  if (start) yield { kind: 'start', ...lineOf(start), takenOn: start.at.slice(0, 10) };
  let from = start ? headOf(start) : claims ? headAtAnchor(claims) : emptyHead(organizationId);
  let { head } = from;
  let manifest = before;
  /** The newest checkpoint so far that the log has, until its proof is written. */
  let inLog: LogProof | undefined;
  for (;;) {
    const page = (await readSegments(tx, organizationId, from, segmentsPerPage)).filter(
      ({ size, takenOn }) => size <= end && (day === undefined || takenOn === day),
    );
    for (const segment of page) {
      const proof = proveInLog(segment);
      if (!proof) yield* proofLine(await inLog?.());
      inLog = proof;
      for await (const line of linksOf(tx, segment, head)) {
        yield line;
        head = line.hash;
        manifest = withEvent(manifest);
      }
      const { records, ...checkpoint } = segment;
      yield { kind: 'checkpoint', ...lineOf(checkpoint) };
      from = { ...segment, hash: null };
    }
    if (page.length === 0) break;
  }
  yield* proofLine(await inLog?.());
  if (!anchor && from.number === 0) return before;
  if ((await newestAnchor(tx, organizationId))?.number !== anchor?.number)
    throw new Error('retention dropped a part of the audit log while it was exported');
  return withChain(manifest, {
    organizationId,
    droppedThrough: claims?.droppedThrough ?? '',
    head: from.head,
  });
}

interface ChainScope {
  readonly organizationId: string;
  readonly day: string | undefined;
  readonly proveInLog: ProveInLog;
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

/** The links of a segment with their events; `head` is the hash of the link before. */
async function* linksOf(
  tx: Queryable,
  { organizationId, size, takenOn, records }: SegmentRow,
  head: string,
): AsyncGenerator<LinkLine> {
  const count = Math.floor(records.length / storedLength);
  let previous = head;
  for (let start = 0; start < count; start += linksPerPage) {
    const links = Array.from({ length: Math.min(linksPerPage, count - start) }, (_, index) => {
      const place = start + index;
      const sequence = size - count + place + 1;
      const record = recordAt(sequence, records.slice(place * storedLength, (place + 1) * storedLength));
      previous = linkHash(previous, record);
      const eventHash = eventHashIn(record);
      return { sequence, eventId: eventIdIn(record), time: timeTextIn(record), eventHash, hash: previous };
    });
    const events = await readLinkedEvents(tx, organizationId, links);
    for (const [index, link] of links.entries()) {
      const event = events[index];
      const text = event && { canonical: event.canonical, appendedIn: event.appendedIn, seal: event.seal };
      yield { kind: 'link', organizationId, ...link, linkedOn: takenOn, event: text ?? null };
    }
  }
}
