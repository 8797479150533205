/**
 * The heads of chains: the signed end of each, and the last end that this process has seen. A chain that was truncated
 * together with its checkpoints is consistent in the database; only a process that saw more can tell.
 */
import { isTemporary, type Queryable } from '../../../kernel/data/db.ts';
import type { PublicKey, ReadStatement } from '../../../kernel/ports/signer.ts';
import type { Finding } from '../findings.ts';
import type { Keyring } from './keys/keyring.ts';
import {
  findNewestCheckpoints,
  findOrganizationsWithChain,
  newestAnchor,
  newestAnchorOfAll,
} from './segments-store.ts';
import type { Anchor, CheckpointRow } from './statements.ts';
import {
  type ChainHead,
  emptyHead,
  headAtAnchor,
  headOf,
  readAnchor,
  rowFinding,
  signatureFinding,
  truncationFinding,
} from './verify-chain.ts';

/** A checked head, or the reason why it does not count. */
interface HeadResult {
  readonly head?: ChainHead;
  /** The tree head that covers it; 0 when it is signed itself, or retention dropped it. */
  readonly tree?: number;
  readonly finding?: Finding;
}

interface Dropped {
  /** The segments and tree heads before this day, except the tree heads of the day that had the newest. */
  readonly before: string;
  /** The highest number of a dropped tree head; undefined when an earlier version signed the anchor. */
  readonly throughTreeHead: number | undefined;
}

export interface ChainHeads {
  /** Keeps the head as the last one seen, unless a later one was seen. */
  markSeen(organizationId: string, head: ChainHead): void;
  lastSeen(organizationId: string): ChainHead | undefined;
  /**
   * Marks the checked heads of the next chains as seen, until all or 50,000 are loaded. So the process notices when the end of
   * a chain is removed to which it has not written.
   */
  loadNext(db: Queryable): Promise<void>;
  /** A copy. Compare the rows of a snapshot with a copy from before the snapshot: chains grow in between. */
  allSeen(): ReadonlyMap<string, ChainHead>;
  /** The checked head of each chain; organizations without a chain are left out. `seen` defaults to the current heads. */
  newest(
    db: Queryable,
    organizationIds: readonly string[],
    seen?: ReadonlyMap<string, ChainHead>,
  ): Promise<Map<string, HeadResult>>;
  /** The newest anchor of retention, checked. */
  anchor(db: Queryable, organizationId: string): Promise<{ anchor?: Anchor; finding?: Finding }>;
  /** What retention has dropped, as the newest anchor of all chains says; undefined without an anchor. */
  dropped(db: Queryable): Promise<Dropped | undefined>;
}

/** A page is loaded in a fraction of a second, one per pass of the sequencer. */
const chainsPerPage = 500;
const maxLoaded = 50_000;

export function createChainHeads(deps: { keyring: Keyring; readStatement: ReadStatement }): ChainHeads {
  const { keyring, readStatement } = deps;
  const seenHeads = new Map<string, ChainHead>();
  const loading = { after: undefined as string | undefined, left: maxLoaded };

  /** The signature of a checkpoint that was seen already needs no second check. */
  const checkHead = async (
    row: CheckpointRow,
    keys: readonly PublicKey[],
    seen: ChainHead | undefined,
  ): Promise<HeadResult> => {
    const head = headOf(row);
    const isKnown = seen?.hash === head.hash && !rowFinding(row);
    const finding =
      (isKnown ? undefined : await signatureFinding(readStatement, row, keys)) ??
      truncationFinding(row.organizationId, seen, head);
    return finding ? { finding } : { head, tree: row.inclusion?.treeHead ?? 0 };
  };

  const anchor: ChainHeads['anchor'] = async (db, organizationId) => {
    const row = await newestAnchor(db, organizationId);
    if (!row) return {};
    const { keys } = await keyring.trust(db);
    return readAnchor(readStatement, keys, organizationId, row);
  };

  /** For a chain without checkpoints: retention may have dropped all of them. */
  const headAfterRetention = async (
    db: Queryable,
    organizationId: string,
    seen: ChainHead | undefined,
  ): Promise<HeadResult | undefined> => {
    const { anchor: last, finding: invalid } = await anchor(db, organizationId);
    if (invalid) return { finding: invalid };
    const head = last ? headAtAnchor(last) : emptyHead(organizationId);
    const finding = truncationFinding(organizationId, seen, head);
    if (finding) return { finding };
    return last && { head };
  };

  const markSeen: ChainHeads['markSeen'] = (organizationId, head) => {
    if ((seenHeads.get(organizationId)?.number ?? 0) < head.number) seenHeads.set(organizationId, head);
  };

  const newest: ChainHeads['newest'] = async (
    db,
    organizationIds,
    seen = subsetOf(seenHeads, organizationIds),
  ) => {
    const { keys } = await keyring.trust(db);
    const results = new Map<string, HeadResult>();
    // A later checkpoint than the one seen is of its day or a later one.
    const wanted = organizationIds.map((id) => ({ id, since: dayOf(seen.get(id)) }));
    for (const row of wanted.length > 0 ? await findNewestCheckpoints(db, wanted) : [])
      results.set(row.organizationId, await checkHead(row, keys, seen.get(row.organizationId)));
    for (const organizationId of organizationIds) {
      if (results.has(organizationId)) continue;
      const result = await headAfterRetention(db, organizationId, seen.get(organizationId));
      if (result) results.set(organizationId, result);
    }
    return results;
  };

  return {
    anchor,
    newest,
    markSeen,
    async loadNext(db) {
      if (loading.left <= 0) return;
      const page = await findOrganizationsWithChain(db, { after: loading.after, limit: chainsPerPage });
      const heads = await newest(db, page).catch((error) => {
        if (isTemporary(error)) throw error;
        // A row was edited and cannot be read. Verification reports it.
        return new Map<string, HeadResult>();
      });
      for (const [organizationId, { head }] of heads) if (head) markSeen(organizationId, head);
      loading.after = page.at(-1);
      loading.left = page.length < chainsPerPage ? 0 : loading.left - page.length;
    },
    async dropped(db) {
      const row = await newestAnchorOfAll(db);
      if (!row) return undefined;
      const { keys } = await keyring.trust(db);
      const { anchor: last } = await readAnchor(readStatement, keys, row.organizationId, row);
      return last && { before: last.droppedThrough, throughTreeHead: last.droppedTreeHead };
    },
    lastSeen: (organizationId) => seenHeads.get(organizationId),
    allSeen: () => new Map(seenHeads),
  };
}

const dayOf = (seen: ChainHead | undefined): string => seen?.at.slice(0, 10) ?? '0001-01-01';

/** A copy, taken before the query. */
const subsetOf = (heads: ReadonlyMap<string, ChainHead>, ids: readonly string[]) =>
  new Map(ids.flatMap((id) => (heads.has(id) ? [[id, heads.get(id) as ChainHead]] : [])));
