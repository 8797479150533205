/**
 * The log with all its evidence as JSON lines, to be kept or checked elsewhere: the keys, then for each organization its
 * anchor, its links with their events, and each checkpoint behind the last link that it covers; in the end, signed, what
 * all of that was.
 */
import type { Clock } from '../../../kernel/clock.ts';
import type { Db, Tx } from '../../../kernel/data/db.ts';
import type { Signer } from '../../../kernel/ports/signer.ts';
import { afterAnchor, beginningOf } from '../chain/chain-heads.ts';
import { readKeys } from '../chain/links-store.ts';
import { claimed, sign } from '../chain/statements.ts';
import { findAnchored, findChains } from '../log/retention-store.ts';
import { newestAnchor, readCheckpoints, readLinks, takeSnapshot } from '../verify/evidence-store.ts';
import { type Contents, noContents, withChain, withEvent } from './manifest.ts';

export const exportVersion = 1;
const checkpointsAtOnce = 200;
const linksAtOnce = 1_000;

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

type Line = { readonly kind: string };

/** In one snapshot, however long it takes. Answers how many events were written. */
export function exportLog(deps: ExportDeps, options: ExportOptions): Promise<number> {
  const at = new Date(deps.clock.now()).toISOString();
  return deps.db.transaction(async (tx) => {
    await takeSnapshot(tx);
    let events = 0;
    for await (const line of linesOf(tx, deps.signer, at, options.organizationId)) {
      await options.write(line);
      if (line.kind !== 'link') continue;
      events += 1;
      if (events % linksAtOnce === 0) options.onProgress?.(events);
    }
    return events;
  });
}

async function* linesOf(
  tx: Tx,
  signer: Signer,
  at: string,
  organizationId: string | undefined,
): AsyncGenerator<Line> {
  yield { kind: 'export', version: exportVersion } as Line;
  for (const row of await readKeys(tx)) yield { kind: 'key', ...row } as Line;
  let contents = noContents;
  for (const chain of organizationId === undefined ? await allChains(tx) : [organizationId])
    contents = yield* linesOfChain(tx, chain, contents);
  const { chains, events, hash } = contents;
  const said = { at, organizationId: organizationId ?? null, chains, events, contents: hash };
  yield { kind: 'end', chains, events, signed: await sign(signer, 'export', said) } as Line;
}

/** Those too of which retention has left nothing but the anchor. */
const allChains = async (tx: Tx): Promise<string[]> =>
  [...new Set([...(await findChains(tx)), ...(await findAnchored(tx))])].sort();

/** Answers what the export holds with this chain; an organization of which there is nothing has none. */
async function* linesOfChain(
  tx: Tx,
  organizationId: string,
  before: Contents,
): AsyncGenerator<Line, Contents> {
  const anchor = await newestAnchor(tx, organizationId);
  if (anchor) yield { kind: 'anchor', organizationId, ...anchor } as Line;
  const claims = anchor && claimed('anchor', anchor.signed);
  let { number, size, head } = claims ? afterAnchor(claims) : beginningOf(organizationId);
  let contents = before;
  for (;;) {
    const page = await readCheckpoints(tx, organizationId, number, checkpointsAtOnce);
    for (const checkpoint of page) {
      for (let after = size; after < checkpoint.size; after += linksAtOnce) {
        const through = Math.min(after + linksAtOnce, checkpoint.size);
        for (const { link, event } of await readLinks(tx, { organizationId, after, through }, linksAtOnce)) {
          const told = event && {
            canonical: event.canonical,
            appendedIn: event.appendedIn,
            seal: event.seal,
          };
          yield { kind: 'link', organizationId, ...link, event: told ?? null } as Line;
          contents = withEvent(contents);
        }
      }
      yield { kind: 'checkpoint', ...checkpoint };
      ({ number, size, head } = checkpoint);
    }
    if (page.length < checkpointsAtOnce) break;
  }
  if (!anchor && number === 0) return before;
  return withChain(contents, { organizationId, droppedThrough: claims?.droppedThrough ?? '', head });
}
