/** Which resources a caller sees and changes: those of its organization, and to read those shared with it. Operators: all. */
import { type Caller, tenantOf } from '../../kernel/caller.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { lockExclusive } from '../../kernel/data/locks.ts';
import { fail } from '../../kernel/fail.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import type { Resource } from './schema.ts';
import { findResource, type VisibleResource } from './store.ts';

export async function requireVisible(
  db: Queryable,
  caller: Caller,
  resourceId: string,
): Promise<VisibleResource> {
  return (await findResource(db, tenantOf(caller), resourceId)) ?? fail('RESOURCE_NOT_FOUND');
}

/** FORBIDDEN for a resource that is only shared with the caller's organization. */
export async function requireOwned(db: Queryable, caller: Caller, resourceId: string): Promise<Resource> {
  const resource = await requireVisible(db, caller, resourceId);
  if (resource.sharedScopes !== null)
    fail('FORBIDDEN', {
      message:
        'This API is shared with your organization; only the organization that owns it can change it or see its shares.',
    });
  return toResource(resource);
}

/**
 * For a change of the resource or its shares. Grants of the resource wait until the transaction ends. Read first: a caller cannot lock
 * resources that it may not change.
 */
export async function lockOwned(tx: Tx, caller: Caller, resourceId: string): Promise<Resource> {
  const found = await requireOwned(tx, caller, resourceId);
  await lockExclusive(tx, 'resource', [found.resourceId]);
  return requireOwned(tx, caller, resourceId);
}

/** The scopes that an organization can use: all of its own resource, otherwise those shared with it. */
export const usableScopes = ({ scopes, sharedScopes }: VisibleResource): string[] =>
  scopes.map(({ name }) => name).filter((name) => sharedScopes === null || sharedScopes.includes(name));

export function toResource({ sharedScopes, ...resource }: VisibleResource): Resource {
  if (sharedScopes === null) return resource;
  return {
    ...resource,
    scopes: resource.scopes.filter(({ name }) => sharedScopes.includes(name)),
    peopleScopes: resource.peopleScopes.filter((name) => sharedScopes.includes(name)),
    // People of another organization.
    approvers: [],
    verification: { ...resource.verification, token: null },
  };
}

/** VALIDATION_ERROR for scopes that are not usable; otherwise the requested scopes in the resource's order. */
export function requireScopes(requested: readonly string[], usable: readonly string[], of: string): string[] {
  const problems = requested.flatMap((name, index) =>
    usable.includes(name)
      ? []
      : [{ in: 'body', field: `scopes[${index}]`, message: `is not a scope of the ${of}` }],
  );
  if (problems.length > 0) throw validationError('body', problems);
  return usable.filter((name) => requested.includes(name));
}
