/**
 * Who may send how much at once, so that no receiver stands in another's way: each has a lane, with so many sends under way
 * at the most, and a supply that grows while it is used up quickly and shrinks while it is not.
 */
import type { Job, Want } from './queue-store.ts';

/** Of one process, over all lanes. Claims are a moment apart: what is held must last a quick receiver until the next. */
const maxHeld = 1_600;
const maxSends = 200;
/** Of one organization, whatever the number of its receivers: slow ones that never fail must leave room for others. */
const maxSendsOfOne = maxSends / 4;
const maxHeldOfOne = maxHeld / 4;
/** Receivers that fail never take more than this of it; each of them has one send under way. */
const maxFailing = 100;
const maxSupply = 400;
/** Times the sends that may be under way: what a receiver of whom nothing is known gets at first. */
const firstSupply = 4;
const quickMs = 500;
const slowMs = 2_000;

type Wanted = Pick<Want, 'room' | 'failingRoom' | 'each' | 'lanes' | 'eachOrganization' | 'organizations'>;

interface Lane {
  readonly id: string;
  readonly waiting: Job[];
  sends: number;
  /** Claimed and not settled: waiting, being sent, being written down. */
  held: number;
  supply: number;
  suppliedAt: number;
  /** There may be more where the last came from. */
  more: boolean;
}

export function createLanes(perReceiver: number) {
  const lanes = new Map<string, Lane>();
  const atFirst = Math.min(maxSupply, perReceiver * firstSupply);
  let held = 0;
  let sends = 0;
  /** By organization. */
  const sendsOf = createCount();
  const heldOf = createCount();
  let failing = 0;
  /** The last claim was as large as it might be: there may be more, anywhere. */
  let full = false;

  const laneOf = (id: string): Lane => {
    const lane = lanes.get(id) ?? {
      id,
      waiting: [],
      sends: 0,
      held: 0,
      supply: atFirst,
      suppliedAt: 0,
      more: false,
    };
    lanes.set(id, lane);
    return lane;
  };

  const drop = (job: Job): Lane => {
    const lane = laneOf(job.subscriptionId);
    lane.held -= 1;
    held -= 1;
    heldOf.add(job.organizationId, -1);
    if (job.failing) failing -= 1;
    return lane;
  };

  /** What is only being written down does not keep the next from coming. */
  const roomOf = (lane: Lane) => Math.max(0, lane.supply - lane.waiting.length - lane.sends);

  return {
    /** What the next claim may bring. */
    want: (): Wanted => ({
      room: maxHeld - held,
      failingRoom: Math.max(0, maxFailing - failing),
      each: atFirst,
      eachOrganization: maxHeldOfOne,
      organizations: heldOf.all().map(([id, own]) => ({ id, room: Math.max(0, maxHeldOfOne - own) })),
      lanes: [...lanes.values()].map((lane) => ({ id: lane.id, held: lane.held, room: roomOf(lane) })),
    }),

    /** What it has brought, of what was wanted. */
    supply(want: Wanted, jobs: readonly Job[], now: number): void {
      full = jobs.length >= want.room || want.failingRoom === 0 || isFullOfOne(want, jobs);
      const rooms = new Map(want.lanes.map(({ id, room }) => [id, room]));
      for (const { id, room } of want.lanes) if (room > 0) laneOf(id).more = full;
      const brought = Map.groupBy(jobs, ({ subscriptionId }) => subscriptionId);
      for (const [id, own] of brought) {
        const lane = laneOf(id);
        lane.waiting.push(...own);
        lane.held += own.length;
        lane.suppliedAt = now;
        const failed = own.filter((job) => job.failing).length;
        failing += failed;
        held += own.length;
        for (const { organizationId } of own) heldOf.add(organizationId, 1);
        lane.more = full || failed > 0 || own.length >= (rooms.get(id) ?? atFirst);
      }
    },

    /** The next that may be sent now. */
    *next(): Generator<Job> {
      // Who has least under way comes first, so that a place that becomes free does not go back to whoever had it.
      for (const lane of [...lanes.values()].sort((one, other) => one.sends - other.sends)) {
        while (lane.sends < perReceiver && sends < maxSends) {
          const [job] = lane.waiting;
          if (!job || sendsOf.of(job.organizationId) >= maxSendsOfOne) break;
          lane.waiting.shift();
          lane.sends += 1;
          sends += 1;
          sendsOf.add(job.organizationId, 1);
          yield job;
        }
      }
    },

    sent({ subscriptionId, organizationId }: Job): void {
      laneOf(subscriptionId).sends -= 1;
      sends -= 1;
      sendsOf.add(organizationId, -1);
    },

    /** Answers whether it is time to claim again. */
    settled(job: Job, now: number): boolean {
      const lane = drop(job);
      const { more } = lane;
      const low = lane.waiting.length <= lane.supply / 2;
      if (low && more && now - lane.suppliedAt < quickMs) lane.supply = Math.min(maxSupply, lane.supply * 2);
      else if (now - lane.suppliedAt > slowMs) lane.supply = Math.max(perReceiver, lane.supply >> 1);
      if (lane.held === 0 && !more) lanes.delete(lane.id);
      return (low && more) || full;
    },

    /** Takes out what has not been begun, of one receiver or of all; it is no longer held. */
    unload(only?: string): Job[] {
      const unloaded = [...lanes.values()]
        .filter(({ id }) => only === undefined || id === only)
        .flatMap((lane) => lane.waiting.splice(0));
      for (const job of unloaded) drop(job);
      return unloaded;
    },
  };
}

/** An organization got all it may have for now: there may be more of it. */
function isFullOfOne({ organizations, eachOrganization }: Wanted, jobs: readonly Job[]): boolean {
  const rooms = new Map(organizations.map(({ id, room }) => [id, room]));
  const brought = Map.groupBy(jobs, ({ organizationId }) => organizationId);
  return [...brought].some(([id, own]) => own.length >= (rooms.get(id) ?? eachOrganization));
}

/** So much of each; what comes to nothing is forgotten. */
function createCount() {
  const counts = new Map<string, number>();
  return {
    of: (id: string): number => counts.get(id) ?? 0,
    all: (): [string, number][] => [...counts],
    add(id: string, change: number): void {
      const next = (counts.get(id) ?? 0) + change;
      if (next > 0) counts.set(id, next);
      else counts.delete(id);
    },
  };
}
