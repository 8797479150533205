/**
 * The per-endpoint scheduler: decides how many deliveries to lease and which to send next, so that a slow endpoint does not delay
 * the others. Each endpoint has a limit of concurrent sends and a prefetch size, which grows while its queue empties quickly and
 * shrinks while it does not. An endpoint is the URL of one subscription, so it is identified by the subscription's id.
 */
import type { Job, LeaseRequest } from './lease-store.ts';

/** Limits of one process. Rounds are some time apart: the leased jobs must last a fast endpoint until the next round. */
const maxLeased = 1_600;
const maxSends = 200;
/** Limits of one organization over all its endpoints: slow endpoints that never fail must leave room for other organizations. */
const maxSendsPerOrganization = maxSends / 4;
const maxLeasedPerOrganization = maxLeased / 4;
/** Of `maxLeased`, the part that failing endpoints may take. Each of them has one job at a time. */
const maxFailing = 100;
const maxFailingPerOrganization = maxFailing / 4;
const maxPrefetch = 400;
/** A new endpoint's prefetch size, as a multiple of its concurrent sends. */
const initialPrefetchFactor = 4;
const fastMs = 500;
const slowMs = 2_000;

type Capacity = Pick<
  LeaseRequest,
  | 'capacity'
  | 'failingCapacity'
  | 'perEndpoint'
  | 'endpoints'
  | 'perOrganization'
  | 'failingPerOrganization'
  | 'organizations'
>;

interface EndpointState {
  readonly id: string;
  readonly queued: Job[];
  sending: number;
  /** Leased and not completed: queued, being sent, or waiting for its result to be written. */
  leased: number;
  prefetch: number;
  fetchedAt: number;
  /** The number of its last start, of all starts. */
  lastStart: number;
  /** The database may hold more due jobs for it. */
  mayHaveMore: boolean;
}

export function createEndpointScheduler(maxSendsPerEndpoint: number) {
  const endpoints = new Map<string, EndpointState>();
  const initialPrefetch = Math.min(maxPrefetch, maxSendsPerEndpoint * initialPrefetchFactor);
  let leased = 0;
  let sending = 0;
  const sendingByOrganization = createCounts();
  const leasedByOrganization = createCounts();
  let starts = 0;
  /** Of organizations with leased jobs: the number of the last start. */
  const lastStarts = new Map<string, number>();
  let failing = 0;
  const failingByOrganization = createCounts();
  /** The last lease reached a limit: the database may hold more due jobs for any endpoint. */
  let lastLeaseFull = false;

  const endpointOf = (id: string): EndpointState => {
    const endpoint = endpoints.get(id) ?? {
      id,
      queued: [],
      sending: 0,
      leased: 0,
      prefetch: initialPrefetch,
      fetchedAt: 0,
      lastStart: 0,
      mayHaveMore: false,
    };
    endpoints.set(id, endpoint);
    return endpoint;
  };

  const untrack = (job: Job): EndpointState => {
    const endpoint = endpointOf(job.subscriptionId);
    endpoint.leased -= 1;
    leased -= 1;
    leasedByOrganization.add(job.organizationId, -1);
    if (leasedByOrganization.of(job.organizationId) === 0) lastStarts.delete(job.organizationId);
    if (job.failing) {
      failing -= 1;
      failingByOrganization.add(job.organizationId, -1);
    }
    return endpoint;
  };

  /** Jobs whose result is being written do not count: they must not delay the next ones. */
  const capacityOf = ({ prefetch, queued, sending }: EndpointState) =>
    Math.max(0, prefetch - queued.length - sending);

  const nextOf = ({ queued, sending: own }: EndpointState): Job | undefined => {
    const [job] = queued;
    const mayStart =
      job &&
      own < maxSendsPerEndpoint &&
      sendingByOrganization.of(job.organizationId) < maxSendsPerOrganization;
    return mayStart ? job : undefined;
  };

  /** Organizations take turns, and the endpoints of each: the one whose last start is the longest ago. */
  const nextEndpoint = (): { endpoint: EndpointState; job: Job } | undefined => {
    let next: { endpoint: EndpointState; job: Job; organizationStart: number } | undefined;
    if (sending >= maxSends) return undefined;
    for (const endpoint of endpoints.values()) {
      const job = nextOf(endpoint);
      if (!job) continue;
      const organizationStart = lastStarts.get(job.organizationId) ?? 0;
      const isEarlier =
        !next ||
        organizationStart < next.organizationStart ||
        (organizationStart === next.organizationStart && endpoint.lastStart < next.endpoint.lastStart);
      if (isEarlier) next = { endpoint, job, organizationStart };
    }
    return next;
  };

  return {
    /** How many jobs the next lease may bring. */
    capacity: (): Capacity => ({
      capacity: maxLeased - leased,
      failingCapacity: Math.max(0, maxFailing - failing),
      perEndpoint: initialPrefetch,
      perOrganization: maxLeasedPerOrganization,
      failingPerOrganization: maxFailingPerOrganization,
      organizations: leasedByOrganization.entries().map(([id, own]) => ({
        id,
        capacity: Math.max(0, maxLeasedPerOrganization - own),
        failingCapacity: Math.max(0, maxFailingPerOrganization - failingByOrganization.of(id)),
      })),
      endpoints: [...endpoints.values()].map((endpoint) => ({
        id: endpoint.id,
        leased: endpoint.leased,
        capacity: capacityOf(endpoint),
      })),
    }),

    /** Queues the jobs of a lease that was requested with this capacity. */
    enqueue(requested: Capacity, jobs: readonly Job[], now: number): void {
      lastLeaseFull =
        jobs.length >= requested.capacity ||
        requested.failingCapacity === 0 ||
        isAnOrganizationFull(requested, jobs);
      const capacities = new Map(requested.endpoints.map(({ id, capacity }) => [id, capacity]));
      for (const { id, capacity } of requested.endpoints)
        if (capacity > 0) endpointOf(id).mayHaveMore = lastLeaseFull;
      const byEndpoint = Map.groupBy(jobs, ({ subscriptionId }) => subscriptionId);
      for (const [id, own] of byEndpoint) {
        const endpoint = endpointOf(id);
        endpoint.queued.push(...own);
        endpoint.leased += own.length;
        endpoint.fetchedAt = now;
        const ownFailing = own.filter((job) => job.failing).length;
        failing += ownFailing;
        leased += own.length;
        for (const job of own) {
          leasedByOrganization.add(job.organizationId, 1);
          if (job.failing) failingByOrganization.add(job.organizationId, 1);
        }
        endpoint.mayHaveMore =
          lastLeaseFull || ownFailing > 0 || own.length >= (capacities.get(id) ?? initialPrefetch);
      }
    },

    /** The jobs that may be sent now; each counts as being sent once it is yielded. */
    *next(): Generator<Job> {
      for (let next = nextEndpoint(); next; next = nextEndpoint()) {
        const { endpoint, job } = next;
        starts += 1;
        endpoint.queued.shift();
        endpoint.lastStart = starts;
        endpoint.sending += 1;
        sending += 1;
        sendingByOrganization.add(job.organizationId, 1);
        lastStarts.set(job.organizationId, starts);
        yield job;
      }
    },

    /** The endpoint has answered: its slot is free. */
    sent({ subscriptionId, organizationId }: Job): void {
      endpointOf(subscriptionId).sending -= 1;
      sending -= 1;
      sendingByOrganization.add(organizationId, -1);
    },

    /** The job's result is written, or the job is dropped. Returns whether it is time to lease again. */
    completed(job: Job, now: number): boolean {
      const endpoint = untrack(job);
      const { mayHaveMore } = endpoint;
      const low = endpoint.queued.length <= endpoint.prefetch / 2;
      if (low && mayHaveMore && now - endpoint.fetchedAt < fastMs)
        endpoint.prefetch = Math.min(maxPrefetch, endpoint.prefetch * 2);
      else if (now - endpoint.fetchedAt > slowMs)
        endpoint.prefetch = Math.max(maxSendsPerEndpoint, endpoint.prefetch >> 1);
      if (endpoint.leased === 0 && !mayHaveMore) endpoints.delete(endpoint.id);
      return (low && mayHaveMore) || lastLeaseFull;
    },

    /** Removes the queued jobs of one endpoint, or of all; the caller releases their leases. */
    removeQueued(subscriptionId?: string): Job[] {
      const removed = [...endpoints.values()]
        .filter(({ id }) => subscriptionId === undefined || id === subscriptionId)
        .flatMap((endpoint) => endpoint.queued.splice(0));
      for (const job of removed) untrack(job);
      return removed;
    },
  };
}

/** An organization got as many jobs as it may have: the database may hold more for it. */
function isAnOrganizationFull({ organizations, perOrganization }: Capacity, jobs: readonly Job[]): boolean {
  const capacities = new Map(organizations.map(({ id, capacity }) => [id, capacity]));
  const byOrganization = Map.groupBy(jobs, ({ organizationId }) => organizationId);
  return [...byOrganization].some(([id, own]) => own.length >= (capacities.get(id) ?? perOrganization));
}

/** Counts by id; ids whose count is zero are removed. */
function createCounts() {
  const counts = new Map<string, number>();
  return {
    of: (id: string): number => counts.get(id) ?? 0,
    entries: (): [string, number][] => [...counts],
    add(id: string, change: number): void {
      const next = (counts.get(id) ?? 0) + change;
      if (next > 0) counts.set(id, next);
      else counts.delete(id);
    },
  };
}
