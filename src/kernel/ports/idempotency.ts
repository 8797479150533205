/** Idempotency keys: a request that is sent again with its key gets its first response and changes nothing. */

/** Travels with the caller to the ledger, so that the key commits with the change it belongs to. */
export interface IdempotencyKey {
  readonly caller: string;
  readonly keyHash: Buffer;
  readonly requestHash: Buffer;
  /** The event that records the creation, and the field of it that has the id. */
  readonly event: string;
  readonly idField: string;
}

/** The first request with the key has committed while this one was running. Nothing of this one was changed. */
export class IdempotencyKeyTaken extends Error {}

export interface UsedKey {
  readonly requestHash: Buffer;
  readonly createdId: string;
  /** The body as it was sent; undefined when it was not stored. */
  readonly response?: string;
  /** Committed a moment ago: its response may still be on its way to the store. */
  readonly recent: boolean;
}

export interface IdempotencyKeys {
  /** Undefined unless the key was used within its lifetime. */
  find(key: IdempotencyKey): Promise<UsedKey | undefined>;
  /** Stores the response after the commit. One that has a secret is stored only if it can be encrypted. */
  storeResponse(key: IdempotencyKey, response: string, options: { readonly secret: boolean }): Promise<void>;
}
