/**
 * The ledger: a service says once what happened, inside the transaction of the change. The listeners are joined in
 * app.ts: the audit log (a change whose audit row cannot be written does not happen), and whoever else must know before the
 * commit. After it come those whom nobody waits for.
 */
import type { EventType } from '../contract/events.ts';
import type { Actor, Delegation } from './caller.ts';
import type { Clock } from './clock.ts';
import type { Tx } from './data/db.ts';
import type { Ids } from './ids.ts';
import { limitRefusals } from './refusals.ts';

export interface Happening {
  readonly eventId: string;
  readonly type: EventType;
  readonly outcome: 'success' | 'failure';
  /** The organization whose log this belongs to. */
  readonly organizationId: string;
  /** The agent concerned; who did it is `metadata.actorId`. */
  readonly agentId: string;
  readonly ipAddress: string;
  readonly userAgent: string;
  /** ISO 8601. */
  readonly timestamp: string;
  /** What the service said of it: what subscribers are told. */
  readonly data: Readonly<Record<string, unknown>>;
  /** The same and who did it, in which request: what the audit log keeps. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface Subject {
  readonly organizationId: string;
  readonly agentId: string;
  readonly outcome?: 'success' | 'failure';
  /** Ids, names, scopes, reasons; never a secret. */
  readonly metadata?: Record<string, unknown>;
}

export interface LedgerListener {
  /** Joins the change's own transaction; a throw undoes the change. */
  inTransaction?(tx: Tx, happenings: readonly Happening[]): Promise<void>;
  /** The change is durable. */
  afterCommit?(happenings: readonly Happening[]): void;
}

export interface Entry {
  /** Without an agentId the request is unauthenticated, and its failure falls under the limit of kernel/refusals.ts. */
  readonly actor: Actor;
  readonly type: EventType;
  readonly subject: Subject;
}

export interface Ledger {
  record(tx: Tx, actor: Actor, type: EventType, subject: Subject): Promise<void>;
  /** Of many that share a transaction, at the price of one. */
  recordAll(tx: Tx, entries: readonly Entry[]): Promise<void>;
}

/** By which delegation whoever did it could, and on whose behalf. */
const delegationOf = ({ chainIds, subjectId }: Delegation) => ({ chainId: chainIds.at(-1), subjectId });

export function createLedger(deps: { clock: Clock; ids: Ids; listeners: readonly LedgerListener[] }): Ledger {
  const { clock, ids, listeners } = deps;

  const happeningOf = ({ actor, type, subject }: Entry, now: number): Happening => ({
    eventId: ids.orderedAt(now),
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
      requestId: actor.requestId,
    },
  });

  const recordAll: Ledger['recordAll'] = async (tx, asked) => {
    const now = clock.now();
    const entries = await limitRefusals(tx, asked, now);
    if (entries.length === 0) return;
    const happenings = entries.map((entry) => happeningOf(entry, now));
    for (const listener of listeners) await listener.inTransaction?.(tx, happenings);
    for (const listener of listeners) tx.afterCommit(() => listener.afterCommit?.(happenings));
  };

  return {
    recordAll,
    record: (tx, actor, type, subject) => recordAll(tx, [{ actor, type, subject }]),
  };
}
