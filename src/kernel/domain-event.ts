/** Domain events: the facts that services record, and the listeners that receive them. kernel/ledger.ts delivers them. */
import type { EventType } from '../contract/events.ts';
import type { Actor, IdempotencyKey } from './caller.ts';
import type { Tx } from './data/db.ts';

export interface DomainEvent {
  readonly eventId: string;
  readonly type: EventType;
  readonly outcome: 'success' | 'failure';
  /** The organization whose log this belongs to. */
  readonly organizationId: string;
  /** The agent concerned; the acting agent is `metadata.actorId`. */
  readonly agentId: string;
  readonly ipAddress: string;
  readonly userAgent: string;
  /** ISO 8601. */
  readonly timestamp: string;
  /** The facts that the service gave: subscribers get a part of them. */
  readonly data: Readonly<Record<string, unknown>>;
  /** `data` with the actor and the request id: the audit log stores this. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The organization has no limit of tokens, so its usage may be counted later; no part of the audit log. */
  readonly countLater?: boolean;
  /** A refusal beyond the limit of kernel/delivery/refusal-events.ts: recorded, but not sent; no part of the audit log. */
  readonly notSent?: true;
  /** With its proofs, which are no part of the audit log. */
  readonly actor: Actor;
  /** Of the request that made the change; no part of the audit log. */
  readonly idempotencyKey?: IdempotencyKey;
}

export interface Subject {
  readonly organizationId: string;
  readonly agentId: string;
  readonly outcome?: 'success' | 'failure';
  /** See DomainEvent. */
  readonly countLater?: boolean;
  /** Ids, names, scopes, reasons; never a secret. */
  readonly metadata?: Record<string, unknown>;
}

export interface LedgerListener {
  /** Which events it gets. */
  readonly types: 'all' | readonly EventType[];
  /** Runs in the change's own transaction; a throw rolls the change back. */
  inTransaction?(tx: Tx, events: readonly DomainEvent[]): Promise<void>;
  /** The change is durable. */
  afterCommit?(events: readonly DomainEvent[]): void;
}

export interface LedgerEntry {
  /** Without an agentId the request is unauthenticated, and its failure counts against the limit of kernel/refusal-limit.ts. */
  readonly actor: Actor;
  readonly type: EventType;
  readonly subject: Subject;
}
