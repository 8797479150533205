/**
 * The log with all its evidence as JSON lines, to be kept or checked elsewhere: the keys, then for each organization its
 * anchor, its links with their events, and each checkpoint behind the last link that it covers.
 */
import type { Db, Tx } from '../../kernel/db.ts';
import { newestAnchor, readCheckpoints, readLinks, takeSnapshot } from './evidence-store.ts';
import { readKeys } from './links-store.ts';
import { afterAnchor, beginningOf } from './positions.ts';
import { findChains } from './retention-store.ts';
import { claimed } from './statements.ts';

export const exportVersion = 1;
const checkpointsAtOnce = 200;
const linksAtOnce = 1_000;

export interface ExportOptions {
  /** Every organization when left out. */
  readonly organizationId?: string | undefined;
  write(line: object): Promise<void>;
  onProgress?(events: number): void;
}

/** In one snapshot, however long it takes. Answers how many events were written. */
export const exportLog = (db: Db, { organizationId, write, onProgress }: ExportOptions): Promise<number> =>
  db.transaction(async (tx) => {
    await takeSnapshot(tx);
    await write({ kind: 'export', version: exportVersion });
    for (const row of await readKeys(tx)) await write({ kind: 'key', ...row });
    let events = 0;
    const chains = organizationId === undefined ? await findChains(tx) : [organizationId];
    for (const chain of chains)
      for await (const line of linesOf(tx, chain)) {
        await write(line);
        if (line.kind !== 'link') continue;
        events += 1;
        if (events % linksAtOnce === 0) onProgress?.(events);
      }
    await write({ kind: 'end', chains: chains.length, events });
    return events;
  });

async function* linesOf(tx: Tx, organizationId: string): AsyncGenerator<{ kind: string }> {
  const anchor = await newestAnchor(tx, organizationId);
  if (anchor) yield { kind: 'anchor', organizationId, ...anchor } as { kind: string };
  const claims = anchor && claimed('anchor', anchor.signed);
  let { number, size } = claims ? afterAnchor(claims) : beginningOf(organizationId);
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
          yield { kind: 'link', organizationId, ...link, event: told ?? null } as { kind: string };
        }
      }
      yield { kind: 'checkpoint', ...checkpoint };
      ({ number, size } = checkpoint);
    }
    if (page.length < checkpointsAtOnce) return;
  }
}
