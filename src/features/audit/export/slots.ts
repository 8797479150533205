/** How many downloads of one kind run at once: each costs until its client has read it. */
import type { Caller } from '../../../kernel/caller.ts';
import { fail } from '../../../kernel/fail.ts';

interface SlotLimits {
  readonly perOrganization: number;
  readonly perProcess: number;
  readonly retryAfterSeconds: number;
}

/** Counts the download from now on until its response has ended; fails with 429 above the limits. */
export type ReserveSlot = (caller: Caller, ended: AbortSignal) => void;

export function createSlots(
  { one, many }: { readonly one: string; readonly many: string },
  { perOrganization, perProcess, retryAfterSeconds }: SlotLimits,
): ReserveSlot {
  /** The callers whose downloads run. */
  const running = new Set<{ readonly organizationId: string }>();

  const refuse = (owner: string, limit: number): never =>
    fail('RATE_LIMIT_EXCEEDED', {
      message: `${owner} already runs ${limit === 1 ? one : `${limit} ${many}`}, the most that run at once: wait until it has ended.`,
      details: { limit },
      headers: { 'retry-after': String(retryAfterSeconds) },
    });

  return ({ organizationId }, ended) => {
    const own = [...running].filter((other) => other.organizationId === organizationId);
    if (own.length >= perOrganization) refuse('Your organization', perOrganization);
    if (running.size >= perProcess) refuse('This server', perProcess);
    if (ended.aborted) return;
    const slot = { organizationId };
    running.add(slot);
    ended.addEventListener('abort', () => running.delete(slot), { once: true });
  };
}
