/**
 * GET /audit/chain and GET /audit/keys: all that a client needs to verify a chain itself. It computes every hash again and
 * checks the signatures with the keys of /.well-known/jwks.json; the statements of GET /audit/keys lead from there to the keys
 * that signed earlier.
 */
import type { Caller } from '../../../kernel/caller.ts';
import type { Db, Tx } from '../../../kernel/data/db.ts';
import { offsetOf, type Page, pageOf } from '../../../kernel/http/page.ts';
import { takeSnapshot } from '../chain/evidence-store.ts';
import {
  eventHashIn,
  eventIdIn,
  firstHash,
  linkHash,
  recordAt,
  storedLength,
  timeTextIn,
} from '../chain/hashes.ts';
import { readKeys } from '../chain/keys/keys-store.ts';
import {
  findSize,
  lastCheckpointUpToSize,
  newestAnchor,
  readSegmentsBetween,
  type SegmentRow,
} from '../chain/segments-store.ts';
import { unverifiedClaims } from '../chain/statements.ts';
import { organizationOf } from '../log-owner.ts';
import type { AuditChain, AuditKey, AuditLink, ChainQuery, KeysQuery } from '../schema.ts';
import { hasInconsistentLinks } from '../verify/completeness-store.ts';
import { checkpointEntry } from '../verify/service.ts';
import { readEventTexts } from './store.ts';

export interface ProofService {
  chain(caller: Caller, query: ChainQuery): Promise<AuditChain>;
  keys(query: KeysQuery): Promise<Page<AuditKey>>;
}

interface ProofDeps {
  readonly db: Db;
  /** Links all events that were recorded so far. */
  drain(): Promise<unknown>;
}

/** A link of the page, before its event is read. */
type BareLink = Omit<AuditLink, 'event'>;

interface Window {
  readonly after: number;
  readonly through: number;
}

export function createProofService({ db, drain }: ProofDeps): ProofService {
  const read = (organizationId: string, { after, limit }: ChainQuery): Promise<AuditChain> =>
    db.transaction(async (tx) => {
      await takeSnapshot(tx);
      const { anchor, startsAfter, droppedThrough } = await readStart(tx, organizationId);
      const size = (await findSize(tx, organizationId)) ?? startsAfter;
      const from = Math.max(after ?? startsAfter, startsAfter);
      const window = { after: from, through: from + limit };
      const segments = await readSegmentsBetween(tx, organizationId, after === undefined ? undefined : from, {
        through: window.through,
        limit,
      });
      const before = await headBefore(tx, organizationId, from, anchor?.signed);
      const links = linksIn(segments, before, window);
      const events = await readEventTexts(tx, organizationId, links);
      return {
        organizationId,
        size,
        startsAfter,
        anchor,
        inconsistentLinks: await hasInconsistentLinks(tx, organizationId, droppedThrough),
        links: links.map((link, index) => ({ ...link, event: events[index] ?? null })),
        checkpoints: segments
          .filter((segment) => segment.size <= window.through)
          .map((row) => ({ ...checkpointEntry(row), previous: row.previous, linkedOn: row.takenOn })),
      };
    });

  return {
    async chain(caller, query) {
      const organizationId = organizationOf(caller, query.organizationId);
      if (query.after === undefined) await drain();
      return read(organizationId, query);
    },
    async keys(query) {
      const rows = await readKeys(db);
      const start = offsetOf(query);
      const data = rows
        .slice(start, start + query.limit)
        .map(({ number, keyId, at, signed }) => ({ number, keyId, time: at, signed }));
      return pageOf(query, data, rows.length);
    },
  };
}

/** The client checks the signature of the anchor. A forged one may say anything, so its values are read with care. */
async function readStart(tx: Tx, organizationId: string) {
  const row = await newestAnchor(tx, organizationId);
  const claims = row && unverifiedClaims('anchor', row.signed);
  const size = Number(claims?.checkpoint?.size);
  const day = String(claims?.droppedThrough);
  return {
    anchor: row ? { number: row.number, time: row.at, signed: row.signed } : null,
    startsAfter: Number.isSafeInteger(size) && size > 0 ? size : 0,
    droppedThrough: isDay(day) ? day : undefined,
  };
}

function isDay(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString().slice(0, 10) === text;
}

/** The hash before the first link of the segment in which the page begins. */
async function headBefore(
  tx: Tx,
  organizationId: string,
  after: number,
  anchor: string | undefined,
): Promise<string> {
  const segment = await lastCheckpointUpToSize(tx, organizationId, after);
  if (segment) return segment.head;
  const claims = anchor === undefined ? undefined : unverifiedClaims('anchor', anchor);
  return String(claims?.checkpoint?.head ?? firstHash(organizationId));
}

/** In a segment that was changed, the sequences have gaps or repeat: the client finds that. */
function linksIn(
  segments: readonly SegmentRow[],
  before: string,
  { after, through }: Window,
): readonly BareLink[] {
  const links: BareLink[] = [];
  let hash = before;
  for (const { size, records } of segments) {
    const count = Math.ceil(records.length / storedLength);
    for (let place = 0; place < Math.floor(records.length / storedLength); place += 1) {
      const sequence = size - count + place + 1;
      if (sequence > through || links.length > through - after) return links;
      const stored = records.slice(place * storedLength, (place + 1) * storedLength);
      const record = recordAt(Math.max(sequence, 0), stored);
      hash = linkHash(hash, record);
      if (sequence <= after) continue;
      const eventHash = eventHashIn(record);
      links.push({ sequence, eventId: eventIdIn(record), time: timeTextIn(record), eventHash, hash });
    }
  }
  return links;
}
