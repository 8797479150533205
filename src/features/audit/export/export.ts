/**
 * The export: the log with all its evidence as JSON lines, to keep or to verify elsewhere. The keys come first, then for
 * each organization its anchor, links with events, and checkpoints; last comes the signed manifest.
 */
import type { Clock } from '../../../kernel/clock.ts';
import type { Db, Tx } from '../../../kernel/data/db.ts';
import type { Signer } from '../../../kernel/ports/signer.ts';
import {
  findAnchoredOrganizations,
  findOrganizationsWithChain,
  newestAnchor,
  readCheckpoints,
} from '../chain/checkpoints-store.ts';
import { readKeys } from '../chain/keys/keys-store.ts';
import { emptyHead, headAtAnchor } from '../chain/rules.ts';
import { sign, unverifiedClaims } from '../chain/statements.ts';
import { readLinks, takeSnapshot } from '../verify/evidence-store.ts';
import { type ExportLine, exportVersion } from './lines.ts';
import { type ExportManifest, emptyManifest, withChain, withEvent } from './manifest.ts';

const checkpointsPerPage = 200;
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
}

/** Reads in one snapshot. Returns the number of links. */
export function exportLog(deps: ExportDeps, options: ExportOptions): Promise<number> {
  const at = new Date(deps.clock.now()).toISOString();
  return deps.db.transaction(async (tx) => {
    await takeSnapshot(tx);
    let events = 0;
    for await (const line of linesOf(tx, deps.signer, at, options.organizationId)) {
      await options.write(line);
      if (line.kind !== 'link') continue;
      events += 1;
      if (events % linksPerPage === 0) options.onProgress?.(events);
    }
    return events;
  });
}

async function* linesOf(
  tx: Tx,
  signer: Signer,
  at: string,
  organizationId: string | undefined,
): AsyncGenerator<ExportLine> {
  yield { kind: 'export', version: exportVersion };
  for (const row of await readKeys(tx)) yield { kind: 'key', ...row };
  let manifest = emptyManifest;
  for (const chain of organizationId === undefined ? await allChains(tx) : [organizationId])
    manifest = yield* linesOfChain(tx, chain, manifest);
  const { chains, events, hash } = manifest;
  const statement = { at, organizationId: organizationId ?? null, chains, events, contents: hash };
  yield { kind: 'end', chains, events, signed: await sign(signer, 'export', statement) };
}

/** Including chains of which retention left only the anchor. */
const allChains = async (tx: Tx): Promise<string[]> =>
  [...new Set([...(await findOrganizationsWithChain(tx)), ...(await findAnchoredOrganizations(tx))])].sort();

/** Returns the manifest with this chain. An organization without anchor and checkpoint has no chain. */
async function* linesOfChain(
  tx: Tx,
  organizationId: string,
  before: ExportManifest,
): AsyncGenerator<ExportLine, ExportManifest> {
  const anchor = await newestAnchor(tx, organizationId);
  if (anchor) yield { kind: 'anchor', organizationId, ...anchor };
  const claims = anchor && unverifiedClaims('anchor', anchor.signed);
  let { number, size, head } = claims ? headAtAnchor(claims) : emptyHead(organizationId);
  let manifest = before;
  for (;;) {
    const page = await readCheckpoints(tx, organizationId, number, checkpointsPerPage);
    for (const checkpoint of page) {
      for (let after = size; after < checkpoint.size; after += linksPerPage) {
        const through = Math.min(after + linksPerPage, checkpoint.size);
        for (const { link, event } of await readLinks(tx, { organizationId, after, through }, linksPerPage)) {
          const text = event && {
            canonical: event.canonical,
            appendedIn: event.appendedIn,
            seal: event.seal,
          };
          yield { kind: 'link', organizationId, ...link, event: text ?? null };
          manifest = withEvent(manifest);
        }
      }
      yield { kind: 'checkpoint', ...checkpoint };
      ({ number, size, head } = checkpoint);
    }
    if (page.length < checkpointsPerPage) break;
  }
  if (!anchor && number === 0) return before;
  return withChain(manifest, { organizationId, droppedThrough: claims?.droppedThrough ?? '', head });
}
