import type { IdempotencyKey } from '../../kernel/caller.ts';

/** Binds a sealed response to its row. */
export const ownerOf = ({ caller, keyHash }: Pick<IdempotencyKey, 'caller' | 'keyHash'>): string =>
  `idempotency:${caller}:${keyHash.toString('hex')}`;
