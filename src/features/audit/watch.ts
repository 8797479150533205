import type { Tx } from '../../kernel/db.ts';
import { createGatherer } from '../../kernel/gather.ts';
import type { PublicKey } from '../../kernel/signer.ts';
import {
  checkpointFrom,
  checkpointUpTo,
  findChainAfter,
  findGrown,
  findStray,
  type Settled,
  settledIn,
  takeSnapshot,
} from './evidence-store.ts';
import { afterAnchor, isGenuine, type Position, positionOf } from './positions.ts';
import { isUnreadable, type VerifierDeps } from './verify.ts';
import { walk } from './walk.ts';

/** Per round, of what is new and of what is old: a fraction of a second's work, however many chains there are. */
const linksAtMost = 2_500;
const chainsAtMost = 100;

interface Round {
  readonly tx: Tx;
  /** Before the snapshot was taken: chains grow meanwhile, and what is remembered of them since is not in it. */
  readonly known: ReadonlyMap<string, Position>;
  readonly keys: readonly PublicKey[];
  readonly settled: Settled;
  readonly rowByRow: boolean;
}

/** Each round answers whether it has come to the last chain and the next begins with the first. */
export function createWatch(deps: VerifierDeps): () => Promise<boolean> {
  const { db, clock, readStatement, keyring, positions, alarm, drain } = deps;
  const walkedTo = new Map<string, Position>();
  let lookedAt: number | undefined;
  let place: { organizationId: string | undefined; position: Position | undefined } = {
    organizationId: undefined,
    position: undefined,
  };
  let looked = 0;
  let lastGrown = '';

  /** As many of the chains that grew as go into a round; the next one begins behind the last of these. */
  const inTurn = (grown: readonly string[]): string[] => {
    const [behind, before] = [grown.filter((id) => id > lastGrown), grown.filter((id) => id <= lastGrown)];
    const some = [...behind, ...before].slice(0, chainsAtMost);
    lastGrown = some.at(-1) ?? '';
    return some;
  };

  /** From where this process has been, or else over the newest part. */
  const checkNew = async (round: Round, organizationId: string, links: number) => {
    const { tx, keys, known: before } = round;
    const newest = (await positions.newest(tx, [organizationId], before)).get(organizationId);
    if (newest?.problem !== undefined) return alarm.raise({ organizationId, problem: newest.problem });
    if (!newest?.position) return;
    const known = walkedTo.get(organizationId);
    const low = newest.position.size - links;
    const start = known && known.size >= low ? known : await genuine(tx, keys, organizationId, low);
    if (start) await walkOn(round, organizationId, start);
    walkedTo.set(organizationId, newest.position);
    positions.remember(organizationId, newest.position);
  };

  const genuine = async (tx: Tx, keys: readonly PublicKey[], organizationId: string, size: number) => {
    const row = await checkpointUpTo(tx, organizationId, size);
    return row && (await isGenuine(readStatement, row, keys)) ? positionOf(row) : undefined;
  };

  const walkOn = async (
    { tx, keys, settled, rowByRow }: Round,
    organizationId: string,
    start: Position,
    through?: number,
  ): Promise<Position> => {
    const { anchor } = await positions.anchor(tx, organizationId);
    // Retention may have overtaken us.
    const from = anchor && anchor.checkpoint.number > start.number ? afterAnchor(anchor) : start;
    const droppedThrough = anchor?.droppedThrough;
    const way = { organizationId, from, through, settled, keys, droppedThrough, rowByRow };
    const walked = await walk(tx, readStatement, way);
    if (walked.finding) alarm.raise(walked.finding);
    return walked.position;
  };

  /** One piece of one chain, and the events of that time; then the next piece, or the next chain. */
  const checkOld = async (round: Round) => {
    const { tx, settled } = round;
    if (!place.position) {
      const next = await findChainAfter(tx, place.organizationId);
      if (!next) {
        place = { organizationId: undefined, position: undefined };
        return;
      }
      const { anchor, problem } = await positions.anchor(tx, next.id);
      if (problem !== undefined) alarm.raise({ organizationId: next.id, problem });
      place = {
        organizationId: next.id,
        position: anchor ? afterAnchor(anchor) : positions.beginning(next.id),
      };
    }
    const { organizationId, position: from } = place;
    if (!from || organizationId === undefined) return;
    const goal = await checkpointFrom(tx, organizationId, from.number, from.size + linksAtMost);
    const to = await walkOn(round, organizationId, from, goal?.number);
    const period = { from: Date.parse(from.at), to: goal ? Date.parse(to.at) : clock.now() };
    const stray = await findStray(tx, organizationId, settled, period);
    if (stray) alarm.raise({ organizationId, eventId: stray.eventId, problem: 'the event is in no link' });
    place = { organizationId, position: goal ? to : undefined };
  };

  /** A few of the chains that this process has seen: they must still end where they ended, or later. */
  const checkRemembered = async ({ tx, known }: Round) => {
    const some = [...known.keys()].slice(looked, looked + chainsAtMost);
    looked = looked + chainsAtMost < known.size ? looked + chainsAtMost : 0;
    for (const [organizationId, { problem }] of await positions.newest(tx, some, known))
      if (problem !== undefined) alarm.raise({ organizationId, problem });
  };

  const look = (seen: string, since: string, rowByRow: boolean) => {
    const known = positions.known();
    return db.transaction(async (tx) => {
      await takeSnapshot(tx);
      const settled = await settledIn(tx, seen);
      const { keys, problem } = await keyring.trust(tx);
      if (problem !== undefined) return alarm.raise({ problem });
      alarm.clear(undefined);
      const round = { tx, known, keys, settled, rowByRow };
      await checkRemembered(round);
      const grown = inTurn(await findGrown(tx, since));
      const share = Math.ceil(linksAtMost / grown.length);
      for (const organizationId of grown) await checkNew(round, organizationId, share);
      await checkOld(round);
    });
  };

  const round = async (): Promise<boolean> => {
    const seen = await drain();
    const now = clock.now();
    const since = new Date((lookedAt ?? now) - 60_000).toISOString();
    await look(seen, since, false).catch((error) => {
      if (!isUnreadable(error)) throw error;
      return look(seen, since, true);
    });
    lookedAt = now;
    return place.organizationId === undefined;
  };

  /** One at a time: the loop and whoever wants to know now share the place that the watch has come to. */
  const together = createGatherer({
    run: async (askers: readonly undefined[]) => {
      const ended = await round();
      return askers.map(() => ended);
    },
    atMost: 1_000,
    atOnce: 1,
    waiting: 1_000,
  });
  return () => together(undefined);
}
