/** What the browser gets from the server to verify a chain: GET /audit/chain, GET /audit/keys and /.well-known/jwks.json. */

export interface ChainEvent {
  readonly canonical: string;
  readonly appendedIn: string;
  readonly seal: string;
  readonly columns: string | null;
}

export interface ChainLink {
  readonly sequence: number;
  readonly eventId: string;
  readonly time: string;
  readonly eventHash: string;
  readonly hash: string;
  readonly event: ChainEvent | null;
}

export interface Inclusion {
  readonly checkpoint: string;
  readonly treeHead: number;
  readonly treeSize: number;
  readonly leafIndex: number;
  readonly proof: readonly string[];
}

export interface ChainCheckpoint {
  readonly number: number;
  readonly size: number;
  readonly headHash: string;
  readonly time: string;
  readonly keyId: string;
  readonly signed: string;
  readonly inclusion: Inclusion | null;
  readonly previous: string | null;
  readonly linkedOn: string;
}

export interface ChainPage {
  readonly organizationId: string;
  readonly size: number;
  readonly startsAfter: number;
  readonly anchor: { readonly number: number; readonly time: string; readonly signed: string } | null;
  readonly inconsistentLinks: boolean;
  readonly links: readonly ChainLink[];
  readonly checkpoints: readonly ChainCheckpoint[];
}

export interface KeyStatementEntry {
  readonly number: number;
  readonly keyId: string;
  readonly time: string;
  readonly signed: string;
}

/** A public key as a JWK. */
export type PublicKey = Readonly<Record<string, unknown>> & { readonly kid: string };

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
