/** What the browser gets from the server to verify a chain: GET /audit/chain, GET /audit/keys and /.well-known/jwks.json. */
import type { PublicKey } from '../../../../../sdk/typescript/src/audit/statements.ts';
import type { AuditChain, AuditKey } from '../../../api/generated.ts';

export type ChainPage = AuditChain;
export type KeyStatementEntry = AuditKey;
export type { PublicKey };

/** An event as GET /audit shows it. */
export interface ShownEvent {
  readonly eventId: string;
  readonly timestamp: string;
}

/** Where the evidence comes from. Each function may wait and try again. */
export interface Evidence {
  /** The links after a sequence; without one, from the start, after all events were linked. */
  chain(after: number | undefined, limit: number): Promise<ChainPage>;
  /** Newest first. */
  keys(): Promise<readonly KeyStatementEntry[]>;
  /** The published keys: the root of trust. */
  publishedKeys(): Promise<readonly PublicKey[]>;
  /** Events of the list, by time in milliseconds with both ends included: their number, and the newest of them. */
  listed(period: { from?: number; to?: number }, limit: number): Promise<ListedEvents>;
}

export interface ListedEvents {
  readonly total: number;
  readonly events: readonly ShownEvent[];
}

/** A checkpoint that this browser verified earlier. */
export interface RememberedCheckpoint {
  readonly number: number;
  readonly size: number;
  readonly hash: string;
  readonly time: string;
}
