/**
 * The right to grant scopes of an API to an agent, and to take them away. Operators have it. The policies give it to the organization that
 * owns the API, and to admins of the agent's organization. Any other caller passes on scopes of its own grants; a workload those that its
 * trust policy names.
 */

import { operatorScope } from '../../contract/scopes.ts';
import { type Caller, isOperator, missingRole } from '../../kernel/caller.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { ApiError } from '../../kernel/fail.ts';
import type { PolicyPower } from '../workload-identity/policies/store.ts';
import type { ComparedGrant } from './access-store.ts';
import type { NarrowedGrant } from './events.ts';
import type { ResourceDeps } from './feature.ts';
import { deleteGrants, type GrantSelection, narrowGrants, type StoredGrant } from './grants-store.ts';
import type { Resource } from './schema.ts';

export class GrantingRefused extends ApiError {}

/** FORBIDDEN (GrantingRefused) unless the caller may make every one of these grants to an agent of the organization. */
export type RefuseGranting = (
  db: Queryable,
  caller: Caller,
  organizationId: string,
  grants: readonly ComparedGrant[],
) => Promise<void>;

export const createGrantingRule =
  ({
    roleOf,
    mayGrant,
    findPolicyPower,
  }: Pick<ResourceDeps, 'roleOf' | 'mayGrant' | 'findPolicyPower'>): RefuseGranting =>
  async (db, caller, organizationId, grants) => {
    if (mayGrantAll(caller)) return;
    const power = caller.trustPolicyId === undefined ? undefined : await findPolicyPower(db, caller);
    const beyondOwn = grants
      .map((grant) => (power ? withinPolicy(grant, power) : grant))
      .filter((grant) => exceededOf(grant).length > 0);
    if (beyondOwn.length === 0) return;
    const role = await roleOf(caller, db);
    const judged = power ? withoutOperatorScope(caller) : caller;
    if (mayGrant(judged, role, 'agents:grant', organizationId)) return;
    const refused = beyondOwn.find(({ ownerId }) => !mayGrant(judged, role, 'resources:grant', ownerId));
    if (refused) refuse(caller, refused);
  };

/** An operator, unless it is a workload: then the resources of its trust policy are its limit. */
export const mayGrantAll = (caller: Caller): boolean =>
  isOperator(caller) && caller.trustPolicyId === undefined;

const withoutOperatorScope = (caller: Caller): Caller => ({
  ...caller,
  grantableScopes: new Set([...caller.grantableScopes].filter((scope) => scope !== operatorScope)),
});

/** A workload has of its agent's grant the part that its trust policy names. */
const withinPolicy = (grant: ComparedGrant, { resources }: PolicyPower): ComparedGrant => {
  const named = resources.find(({ identifier }) => identifier === grant.identifier)?.scopes ?? [];
  return { ...grant, ownScopes: grant.ownScopes.filter((name) => named.includes(name)) };
};

/** The scopes that the caller's own grant lacks. */
const exceededOf = ({ scopes, ownScopes }: ComparedGrant): string[] =>
  scopes.filter((name) => !ownScopes.includes(name));

function refuse(caller: Caller, grant: ComparedGrant): never {
  const { identifier, ownerId, claims, changedClaims } = grant;
  const exceeded = exceededOf(grant);
  const ways = [
    ...(ownerId === caller.organizationId
      ? [caller.delegation ? 'resources:write held by your own agent' : 'scope resources:write']
      : []),
    `the role admin in the agent's organization${missingRole(caller)}`,
    ...(changedClaims
      ? []
      : [`a grant of your own with ${exceeded.join(', ')}${sameAs(claims)}${withinResources(caller)}`]),
  ];
  const concern = changedClaims
    ? `Tokens for ${identifier} carry ${changedClaims.join(', ')} as a claim.`
    : `This concerns scopes of ${identifier}.`;
  throw new GrantingRefused('FORBIDDEN', {
    message: `${concern} Needs ${ways.join(', or ')}.`,
    details: { identifier, ...(changedClaims ? { claims: changedClaims } : { exceeded }) },
  });
}

const withinResources = ({ trustPolicyId }: Caller): string =>
  trustPolicyId === undefined ? '' : ', which your trust policy names in resources';

const sameAs = (claims: readonly string[]): string =>
  claims.length === 0 ? '' : ` and the same ${claims.join(', ')} as the agent`;

interface Revocation extends Omit<GrantSelection, 'resourceId'> {
  /** The scopes to take away and the time; otherwise the grants are removed. */
  readonly narrow?: { readonly scopes: readonly string[]; readonly now: string };
  /** The scopes that the caller can take away by a grant of its own. */
  readonly ownScopes?: readonly string[];
}

/**
 * Removes or narrows grants; no other module does. The caller needs the right to make the grants that end. Otherwise it could remove a
 * grant, give the agent a secret while no grant forbids it, and wait until the grant is made again.
 */
export type RevokeGrants = (
  tx: Tx,
  caller: Caller,
  resource: Pick<Resource, 'resourceId' | 'organizationId' | 'identifier' | 'claims'>,
  revocation: Revocation,
) => Promise<{ changed: NarrowedGrant[]; removed: StoredGrant[] }>;

export const createRevocation =
  (refuseGranting: RefuseGranting): RevokeGrants =>
  async (tx, caller, resource, { narrow, ownScopes = [], ...selected }) => {
    const { resourceId, organizationId: ownerId, identifier, claims } = resource;
    const selection = { resourceId, ...selected };
    const revoked = narrow
      ? await narrowGrants(tx, selection, narrow.scopes, narrow.now)
      : { changed: [], removed: await deleteGrants(tx, selection) };
    const all = [...revoked.changed, ...revoked.removed];
    // A refusal rolls the transaction back.
    for (const [organizationId, grants] of Map.groupBy(all, (grant) => grant.organizationId)) {
      const scopes = narrow?.scopes ?? [...new Set(grants.flatMap(({ held }) => Object.keys(held)))];
      await refuseGranting(tx, caller, organizationId, [{ identifier, ownerId, scopes, ownScopes, claims }]);
    }
    const changed = revoked.changed.map((grant) => ({ ...grant, narrowed: true }) as const);
    return { ...revoked, changed };
  };

/** Records the refusals of a service, after the rollback of the transaction. */
export const createRefusalRecorder =
  ({ recordRefusal }: Pick<ResourceDeps, 'recordRefusal'>) =>
  <Service extends { [Method in keyof Service]: (caller: Caller, ...rest: never[]) => Promise<unknown> }>(
    service: Service,
  ): Service => {
    const recorded = Object.entries<(caller: Caller, ...rest: never[]) => Promise<unknown>>(service).map(
      ([name, method]) => [
        name,
        async (caller: Caller, ...rest: never[]) => {
          try {
            return await method(caller, ...rest);
          } catch (error) {
            if (error instanceof GrantingRefused) await recordRefusal(caller, 'resources:grant');
            throw error;
          }
        },
      ],
    );
    return Object.fromEntries(recorded);
  };
