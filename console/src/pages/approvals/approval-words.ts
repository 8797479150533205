/** Approvals in words, and the choices of the person who decides. */
import type { Approval, ApprovalStatus, Decision, OwnApproval } from '../../api/approvals.ts';

export const statusWords: Readonly<Record<ApprovalStatus, string>> = {
  pending: 'waiting',
  approved: 'approved',
  denied: 'denied',
  expired: 'lapsed',
  canceled: 'canceled',
};

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** "1 hour", "1 hour 30 minutes": exact, so that a longer time cannot look like a shorter one. */
export function durationText(seconds: number): string {
  let rest = seconds;
  const parts: string[] = [];
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}${count === 1 ? '' : 's'}`);
  }
  return parts.join(' ') || '0 seconds';
}

/** What is asked for: the scopes, or the types of the details where they say it all. */
export const wantedOf = ({
  scopes,
  authorizationDetails,
}: Pick<Approval, 'scopes' | 'authorizationDetails'>): string =>
  (scopes.length > 0 ? scopes : (authorizationDetails ?? []).map(({ type }) => String(type))).join(', ');

const offered = [300, 900, 3_600, 14_400, 28_800, 86_400];

/** Never longer than it was asked for. The longest, which was asked for, is the last. */
export const durationsOf = ({ accessExpiresIn }: Pick<Approval, 'accessExpiresIn'>): readonly number[] => [
  ...offered.filter((seconds) => seconds < accessExpiresIn),
  accessExpiresIn,
];

export interface Choice {
  readonly scopes: readonly string[];
  /** Seconds, as text. */
  readonly accessExpiresIn: string;
  readonly allowRedelegation: boolean;
}

type Asked = Pick<OwnApproval, 'scopes' | 'accessExpiresIn'>;

/** As it was asked for. */
export const firstChoice = ({ scopes, accessExpiresIn }: Asked): Choice => ({
  scopes,
  accessExpiresIn: String(accessExpiresIn),
  allowRedelegation: false,
});

/** Undefined while nothing would be allowed. The scopes are in the order of the request. */
export function approvalOf(
  { scopes: asked }: Asked,
  { scopes, accessExpiresIn, allowRedelegation }: Choice,
): Extract<Decision, { decision: 'approve' }> | undefined {
  const chosen = asked.filter((name) => scopes.includes(name));
  if (chosen.length === 0 && asked.length > 0) return undefined;
  return {
    decision: 'approve',
    scopes: chosen,
    accessExpiresIn: Number(accessExpiresIn),
    allowRedelegation,
  };
}
