import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { CredentialUses } from './uses.ts';

/** In every process, because each keeps the uses that it has seen. */
export const createUsesLoop = ({ flushUses }: CredentialUses): Loop => ({
  name: 'credential-uses',
  everyMs: 1_000,
  inEveryProcess: true,
  run: flushUses,
});
