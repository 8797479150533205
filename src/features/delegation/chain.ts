/** A chain of delegations: its links, root first. A chain is named by its last link. */
import type { AuthorizationDetails } from '../../contract/authorization-details.ts';
import { fail } from '../../kernel/fail.ts';
import type { DelegationChain } from './schema.ts';

/** As stored; its status depends on the time as well. */
export interface Link {
  readonly chainId: string;
  readonly parentChainId: string | null;
  readonly rootChainId: string;
  readonly path: string[];
  readonly depth: number;
  readonly organizationId: string;
  readonly subjectType: SubjectType;
  readonly subjectId: string;
  /** Only the first delegator of a chain can be a person. */
  readonly delegatorType: SubjectType;
  readonly delegatorId: string;
  readonly delegateeId: string;
  readonly scopes: string[];
  readonly resource: string[] | null;
  readonly purpose: string | null;
  readonly allowRedelegation: boolean;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly revokedAt: string | null;
  readonly origin: DelegationChain['origin'];
  /** What exactly the person allowed (RFC 9396); null: the scopes alone say it. Links below have the same. */
  readonly authorizationDetails: AuthorizationDetails | null;
  /** The trust policy of the workload that made the link, which ends with it. */
  readonly trustPolicyId: string | null;
}

export type SubjectType = DelegationChain['subjectType'];

export type Chain = readonly [...Link[], Link];

export const lastLink = (chain: Chain): Link => chain[chain.length - 1] as Link;

/** The ids of all agents of the chain, the subject first unless it is a person. */
export function agentsOf(chain: Chain): string[] {
  const { subjectId, subjectType } = lastLink(chain);
  const delegatees = chain.map(({ delegateeId }) => delegateeId);
  return [...new Set(subjectType === 'person' ? delegatees : [subjectId, ...delegatees])];
}

/** A link never outlives its parent, so its own columns are enough. */
export function statusOf({ revokedAt, expiresAt }: Link, now: number): DelegationChain['status'] {
  if (revokedAt !== null) return 'revoked';
  return Date.parse(expiresAt) <= now ? 'expired' : 'active';
}

/** DELEGATION_REVOKED or DELEGATION_EXPIRED. */
export function requireActive(link: Link, now: number): void {
  const status = statusOf(link, now);
  if (status === 'revoked') fail('DELEGATION_REVOKED');
  if (status === 'expired') fail('DELEGATION_EXPIRED');
}

export const withStatus = (link: Link, now: number): DelegationChain => ({
  ...link,
  status: statusOf(link, now),
});

/** The scopes that every link delegates and the subject may hold now. The delegatees' own scopes and grants do not limit them. */
export const delegatedScopes = (
  links: readonly Pick<Link, 'scopes'>[],
  heldBySubject: readonly string[],
): string[] => heldBySubject.filter((scope) => links.every(({ scopes }) => scopes.includes(scope)));

/** The audiences that every link names. A link without a list is for our own API only. */
export const delegatedAudiences = (links: readonly Pick<Link, 'resource'>[], issuer: string): string[] =>
  links
    .map(({ resource }) => resource ?? [issuer])
    .reduce((left, named) => left.filter((audience) => named.includes(audience)));

/** The subject of the events of a delegation. The agent concerned is the delegatee. */
export const eventSubject = (link: Link) => {
  const { organizationId, chainId, rootChainId, parentChainId, depth, subjectId, delegatorId, delegateeId } =
    link;
  const { scopes, resource, purpose, allowRedelegation, expiresAt } = link;
  return {
    organizationId,
    agentId: delegateeId,
    metadata: {
      chainId,
      parentChainId,
      rootChainId,
      depth,
      subjectId,
      delegatorId,
      delegateeId,
      scopes,
      resource,
      purpose,
      allowRedelegation,
      expiresAt,
      ...(link.authorizationDetails && { authorizationDetails: link.authorizationDetails }),
      ...(link.subjectType === 'person' && personOf(link)),
    },
  };
};

const personOf = ({ subjectId: personId, subjectType, delegatorType, origin }: Link) => ({
  personId,
  subjectType,
  delegatorType,
  origin,
});
