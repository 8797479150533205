/** What the person has chosen on the consent page, and the decision that it makes. */
import type { ConsentQuestion, Decision } from '../../api/authorization.ts';

export const durations = [
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '1 day' },
  { value: '2592000', label: '30 days' },
  { value: '7776000', label: '90 days' },
] as const;

export interface ConsentChoice {
  /** Names of scopes. */
  readonly scopes: readonly string[];
  /** Seconds, as text. */
  readonly expiresIn: string;
  readonly allowRedelegation: boolean;
}

export const firstChoice = ({ scopes }: Pick<ConsentQuestion, 'scopes'>): ConsentChoice => ({
  scopes: scopes.map(({ name }) => name),
  expiresIn: '2592000',
  allowRedelegation: false,
});

/** Undefined while there is nothing to allow. The scopes are in the order of the request. */
export function approvalOf(
  { scopes: offered }: Pick<ConsentQuestion, 'scopes'>,
  { scopes, expiresIn, allowRedelegation }: ConsentChoice,
): Decision | undefined {
  const chosen = offered.map(({ name }) => name).filter((name) => scopes.includes(name));
  if (chosen.length === 0) return undefined;
  return { decision: 'approve', scopes: chosen, expiresIn: Number(expiresIn), allowRedelegation };
}

/** `2026-12-18 12:00 UTC` */
export function endOf(expiresIn: string, now: number): string {
  const iso = new Date(now + Number(expiresIn) * 1_000).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}
