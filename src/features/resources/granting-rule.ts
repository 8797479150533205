/**
 * The right to grant scopes of an API to an agent. Operators have it. The policies give it to the organization that owns the API, and to
 * admins of the agent's organization. Any other caller passes on scopes of its own grants; a workload those that its trust policy names.
 */
import { type Caller, isOperator, missingRole } from '../../kernel/caller.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { ApiError } from '../../kernel/fail.ts';
import type { PolicyPower } from '../../kernel/ports/trust-policies.ts';
import type { ComparedGrant } from './access-store.ts';
import type { ResourceDeps } from './deps.ts';

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
    if (isOperator(caller)) return;
    const power = caller.trustPolicyId === undefined ? undefined : await findPolicyPower(db, caller);
    const beyondOwn = grants
      .map((grant) => (power ? withinPolicy(grant, power) : grant))
      .filter((grant) => exceededOf(grant).length > 0);
    if (beyondOwn.length === 0) return;
    const role = await roleOf(caller, db);
    if (mayGrant(caller, role, 'agents:grant', organizationId)) return;
    const refused = beyondOwn.find(({ ownerId }) => !mayGrant(caller, role, 'resources:grant', ownerId));
    if (refused) refuse(caller, refused);
  };

/** A workload has of its agent's grant the part that its trust policy names. */
const withinPolicy = (grant: ComparedGrant, { resources }: PolicyPower): ComparedGrant => {
  const named = resources.find(({ identifier }) => identifier === grant.identifier)?.scopes ?? [];
  return { ...grant, ownScopes: grant.ownScopes.filter((name) => named.includes(name)) };
};

/** The scopes that the caller's own grant lacks. */
const exceededOf = ({ scopes, ownScopes }: ComparedGrant): string[] =>
  scopes.filter((name) => !ownScopes.includes(name));

function refuse(caller: Caller, grant: ComparedGrant): never {
  const { identifier, ownerId } = grant;
  const exceeded = exceededOf(grant);
  const ways = [
    ...(ownerId === caller.organizationId
      ? [caller.delegation ? 'resources:write held by your own agent' : 'scope resources:write']
      : []),
    `the role admin in the agent's organization${missingRole(caller)}`,
    `a grant of your own with ${exceeded.join(', ')}${caller.trustPolicyId === undefined ? '' : ', which your trust policy names in resources'}`,
  ];
  throw new GrantingRefused('FORBIDDEN', {
    message: `This concerns scopes of ${identifier}. Needs ${ways.join(', or ')}.`,
    details: { identifier, exceeded },
  });
}
