/**
 * The ledger: a service records a domain event once, inside the transaction of the change. Listeners that run in the transaction come
 * first, in the order that composition/ gives them: the audit log (if its row cannot be written, the change is rolled back),
 * webhooks, caches. Listeners after the commit delay no response.
 */
import type { EventType } from '../contract/events.ts';
import type { Actor, Delegation, Person } from './caller.ts';
import type { Clock } from './clock.ts';
import type { Tx } from './data/db.ts';
import { createRefusalEventLimit } from './delivery/refusal-events.ts';
import type { DomainEvent, LedgerEntry, LedgerListener, Subject } from './domain-event.ts';
import type { Ids } from './ids.ts';
import { limitRefusals } from './refusal-limit.ts';

export interface Ledger {
  record(tx: Tx, actor: Actor, type: EventType, subject: Subject): Promise<void>;
  /** Many events of one transaction in one statement per listener. */
  recordAll(tx: Tx, entries: readonly LedgerEntry[]): Promise<void>;
}

/** The delegation by which the actor acted, and the agent or person it acted for. */
const delegationOf = ({ chainIds, subjectId, subjectType }: Delegation) => ({
  chainId: chainIds.at(-1),
  subjectId,
  ...(subjectType && { subjectType }),
});

/** The person who acted through the agent. */
const personOf = ({ personId, name }: Person) => ({ personId, name });

export function createLedger(deps: { clock: Clock; ids: Ids; listeners: readonly LedgerListener[] }): Ledger {
  const { clock, ids } = deps;
  const deliveriesOf = createRoutes(deps.listeners);

  const limitRefusalEvents = createRefusalEventLimit();

  const eventOf = (
    { actor, type, subject }: LedgerEntry,
    now: number,
    { isSent }: { isSent: boolean },
  ): DomainEvent => ({
    eventId: ids.uuidV7(now),
    type,
    outcome: subject.outcome ?? 'success',
    organizationId: subject.organizationId,
    agentId: subject.agentId,
    ipAddress: actor.ipAddress,
    userAgent: actor.userAgent,
    timestamp: new Date(now).toISOString(),
    data: subject.metadata ?? {},
    metadata: {
      ...subject.metadata,
      ...(actor.agentId !== undefined && actor.agentId !== subject.agentId && { actorId: actor.agentId }),
      ...(actor.delegation && { delegation: delegationOf(actor.delegation) }),
      ...(actor.person && { person: personOf(actor.person) }),
      requestId: actor.requestId,
    },
    actor,
    ...(!isSent && { notSent: true as const }),
    ...(subject.countLater && { countLater: true }),
    ...(actor.idempotencyKey && { idempotencyKey: actor.idempotencyKey }),
  });

  const recordAll: Ledger['recordAll'] = async (tx, candidates) => {
    const now = clock.now();
    const hasRefusals = candidates.some(({ subject }) => subject.outcome === 'failure');
    const entries = hasRefusals ? await limitRefusals(tx, candidates, now) : candidates;
    if (entries.length === 0) return;
    const notSent = hasRefusals ? await limitRefusalEvents(tx, entries, now) : undefined;
    const events = entries.map((entry) => eventOf(entry, now, { isSent: !notSent?.has(entry) }));
    const deliveries = deliveriesOf(events);
    for (const [listener, own] of deliveries) await listener.inTransaction?.(tx, own);
    for (const [listener, own] of deliveries)
      if (listener.afterCommit) tx.afterCommit(() => listener.afterCommit?.(own));
  };

  return {
    recordAll,
    record: (tx, actor, type, subject) => recordAll(tx, [{ actor, type, subject }]),
  };
}

/** The listeners that registered for one of the events, in their order, each with its events. */
function createRoutes(listeners: readonly LedgerListener[]) {
  const byType = new Map<EventType, readonly LedgerListener[]>();
  const listenersOf = (type: EventType) => {
    const known = byType.get(type);
    if (known) return known;
    const found = listeners.filter(({ types }) => types === 'all' || types.includes(type));
    byType.set(type, found);
    return found;
  };

  return (events: readonly DomainEvent[]): (readonly [LedgerListener, readonly DomainEvent[]])[] => {
    const [first, ...others] = new Set(events.map(({ type }) => type));
    if (first === undefined) return [];
    // Tokens of one batch, and most other records, have one type.
    if (others.length === 0) return listenersOf(first).map((listener) => [listener, events]);
    return listeners
      .map(
        (listener) => [listener, events.filter(({ type }) => listenersOf(type).includes(listener))] as const,
      )
      .filter(([, own]) => own.length > 0);
  };
}
