/** Approvals in words, and the choices of the person who decides. */
import type { Approval, Decision, OwnApproval } from '../../api/approvals.ts';

export const statusWords: Readonly<Record<Approval['status'], string>> = {
  pending: 'waiting',
  approved: 'approved',
  denied: 'denied',
  expired: 'lapsed',
  canceled: 'canceled',
};

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

/** What is left of the request by the choice, in the order of the request. */
export const chosenOf = ({ scopes: asked }: Asked, { scopes }: Choice): readonly string[] =>
  asked.filter((name) => scopes.includes(name));

/** Undefined while nothing would be allowed. Only what is narrower than the request is named. */
export function approvalOf(
  asked: Asked,
  choice: Choice,
): Extract<Decision, { decision: 'approve' }> | undefined {
  const scopes = chosenOf(asked, choice);
  if (scopes.length === 0 && asked.scopes.length > 0) return undefined;
  const accessExpiresIn = Number(choice.accessExpiresIn);
  return {
    decision: 'approve',
    ...(scopes.length < asked.scopes.length && { scopes }),
    ...(accessExpiresIn < asked.accessExpiresIn && { accessExpiresIn }),
    allowRedelegation: choice.allowRedelegation,
  };
}
