import { isDeepStrictEqual } from 'node:util';
import type {
  AuthorizationDetailType,
  NewAuthorizationDetailTypes,
} from '../../contract/authorization-details.ts';
import { limits } from '../../contract/limits.ts';
import { isScope } from '../../contract/scopes.ts';
import { type Caller, refuseBorrowedScope, tenantOf } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { lockExclusive } from '../../kernel/data/locks.ts';
import { fail } from '../../kernel/fail.ts';
import { timeRangeOf } from '../../kernel/http/input/time-range.ts';
import { type FieldProblem, validationError } from '../../kernel/http/input/validation.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import { type ResourceClaim, resourceClaims } from './audience-scopes.ts';
import { detailTypeProblems } from './detail-types.ts';
import { grantEvent, resourceEvent, shareEvents } from './events.ts';
import type { ResourceDeps } from './feature.ts';
import type { RefuseGranting, RevokeGrants } from './granting-rule.ts';
import { audienceName, hostOf, identifierProblem, needsProof, spellingsOf } from './identifier.ts';
import { findPeopleOf } from './lending-store.ts';
import type { NewResource, NewScopes, Resource, ResourceChange, ResourceQuery } from './schema.ts';
import { hasOffers, moveOffers, withdrawOffers } from './shares/offers-store.ts';
import { deleteShares, narrowShares } from './shares/shares-store.ts';
import {
  countResources,
  deletePending,
  deletePendingName,
  deleteReservation,
  findDeleted,
  insertResource,
  isOwnIdentifier,
  isTaken,
  listResources,
  markDeleted,
  updateResource,
} from './store.ts';
import { lockOwned, requireVisible, toResource } from './visibility.ts';

export interface ResourceService {
  create(caller: Caller, wanted: NewResource): Promise<Resource>;
  list(caller: Caller, query: ResourceQuery): Promise<Page<Resource>>;
  get(caller: Caller, resourceId: string): Promise<Resource>;
  update(caller: Caller, resourceId: string, change: ResourceChange): Promise<Resource>;
  remove(caller: Caller, resourceId: string): Promise<void>;
}

export function createResourceService(
  deps: ResourceDeps,
  refuseGranting: RefuseGranting,
  revokeGrants: RevokeGrants,
): ResourceService {
  const { db, clock, ids, ledger, issuer, resourceIdentifiers, lockOrganization } = deps;

  /** The organization is locked until the commit: of concurrent requests for the last place exactly one succeeds. */
  const requireCapacity = async (tx: Tx, organizationId: string) => {
    if (!(await lockOrganization(tx, organizationId))) fail('ORG_NOT_FOUND');
    const limit = limits.resource.maxPerOrganization;
    if ((await countResources(tx, organizationId)) < limit) return;
    fail('RESOURCE_LIMIT_EXCEEDED', {
      message: `An organization may have at most ${limit} APIs; delete one that is not needed.`,
      details: { limit },
    });
  };

  const refuseTaken = () => fail('RESOURCE_ALREADY_EXISTS', { details: { field: 'identifier' } });

  /**
   * Whether the resource has its identifier now; if its host must be proven first, it waits. So the caller learns nothing of other
   * organizations, unless identifiers are open. The identifier is locked until the commit: of concurrent requests for one API exactly
   * one has it.
   */
  const takeIdentifier = async (tx: Tx, resource: Resource): Promise<boolean> => {
    const { organizationId, identifier } = resource;
    const spellings = spellingsOf(identifier);
    await lockExclusive(tx, 'resource', [spellings[0]]);
    if (await isOwnIdentifier(tx, organizationId, spellings)) refuseTaken();
    await moveOffers(tx, await findDeleted(tx, organizationId, spellings), resource.resourceId);
    await deletePendingName(tx, organizationId, spellings);
    if (needsProof(resourceIdentifiers, identifier)) return false;
    const names = spellings.map((spelling) => audienceName(resourceIdentifiers, organizationId, spelling));
    await deleteReservation(tx, organizationId, names);
    if (await isTaken(tx, names)) refuseTaken();
    return true;
  };

  /** VALIDATION_ERROR for ids that are no people of the owner. */
  const requireApprovers = async (tx: Tx, { organizationId, approvers }: Resource) => {
    const known = await findPeopleOf(tx, organizationId, approvers);
    requireValid(
      approvers.flatMap((personId, index) =>
        known.has(personId)
          ? []
          : [{ in: 'body', field: `approvers[${index}]`, message: 'is no person of the organization' }],
      ),
    );
  };

  /** Without the claim, callers with `agents:write` could change the field, and wait until the claim is added again. */
  const refuseRemovingClaims = async (tx: Tx, caller: Caller, before: Resource, after: Resource) => {
    const { identifier, organizationId: ownerId, claims } = before;
    const changedClaims = claims.filter((claim) => !after.claims.includes(claim));
    if (changedClaims.length === 0) return;
    const all = { identifier, ownerId, scopes: namesOf(before), ownScopes: [], claims, changedClaims };
    await refuseGranting(tx, caller, ownerId, [all]);
  };

  return {
    async create(caller, wanted) {
      const problem = identifierProblem(wanted.identifier, issuer);
      requireValid([
        ...(problem ? [{ in: 'body', field: 'identifier', message: problem }] : []),
        ...scopeProblems(wanted.scopes),
        ...peopleScopeProblems(wanted.peopleScopes ?? [], wanted.scopes),
        ...detailTypeProblems(wanted.authorizationDetailTypes ?? []),
      ]);
      const now = isoTime(clock);
      const resource: Resource = {
        resourceId: ids.uuid(),
        organizationId: caller.organizationId,
        identifier: wanted.identifier,
        name: wanted.name,
        description: wanted.description ?? null,
        scopes: withDescriptions(wanted.scopes),
        tokenLifetimeSeconds: wanted.tokenLifetimeSeconds ?? limits.resource.maxTokenSeconds,
        claims: inContractOrder(wanted.claims ?? []),
        peopleScopes: wanted.peopleScopes ?? [],
        approvers: lowerCased(wanted.approvers ?? []),
        authorizationDetailTypes: describedTypes(wanted.authorizationDetailTypes ?? []),
        verification: { status: 'verified', host: hostOf(wanted.identifier), method: null, token: null },
        createdAt: now,
        updatedAt: now,
      };
      refuseBorrowedLending(caller, { peopleScopes: [], approvers: [] }, resource);
      return db.transaction(async (tx) => {
        await requireCapacity(tx, resource.organizationId);
        await requireApprovers(tx, resource);
        const created: Resource = (await takeIdentifier(tx, resource))
          ? resource
          : { ...resource, verification: pendingVerification(resource, ids.secret('')) };
        await insertResource(
          tx,
          created,
          audienceName(resourceIdentifiers, created.organizationId, created.identifier),
        );
        await ledger.recordAll(tx, [resourceEvent(caller, 'resource.created', created)]);
        return created;
      });
    },

    async list(caller, query) {
      const { rows, total } = await listResources(db, tenantOf(caller), query, timeRangeOf(query));
      return pageOf(query, rows.map(toResource), total);
    },

    get: async (caller, resourceId) => toResource(await requireVisible(db, caller, resourceId)),

    update: (caller, resourceId, requested) => {
      requireValid([
        ...scopeProblems(requested.scopes ?? []),
        ...detailTypeProblems(requested.authorizationDetailTypes ?? []),
      ]);
      return db.transaction(async (tx) => {
        const before = await lockOwned(tx, caller, resourceId);
        const change = normalized(before, requested);
        const changed = changedFields(before, change);
        if (changed.length === 0) return before;
        const after: Resource = { ...before, ...change, updatedAt: isoTime(clock) };
        requireValid(peopleScopeProblems(after.peopleScopes, after.scopes));
        refuseBorrowedLending(caller, before, after);
        if (changed.includes('approvers')) await requireApprovers(tx, after);
        await refuseRemovingClaims(tx, caller, before, after);
        await updateResource(tx, after);
        const lost = namesOf(before).filter((name) => !namesOf(after).includes(name));
        const none = { changed: [], removed: [] };
        const isNarrower = lost.length > 0;
        const narrow = { scopes: lost, now: after.updatedAt };
        const shares = isNarrower ? await narrowShares(tx, resourceId, lost, after.updatedAt) : none;
        const grants = isNarrower ? await revokeGrants(tx, caller, after, { narrow }) : none;
        const reason = 'resource.updated';
        await ledger.recordAll(tx, [
          resourceEvent(caller, reason, after, { changed }),
          ...shares.changed.flatMap((share) => shareEvents(caller, 'resource.shared', after, share, reason)),
          ...shares.removed.flatMap((share) =>
            shareEvents(caller, 'resource.unshared', after, share, reason),
          ),
          ...grants.changed.map((grant) => grantEvent(caller, 'grant.changed', after, grant, reason)),
          ...grants.removed.map((grant) => grantEvent(caller, 'grant.removed', after, grant, reason)),
        ]);
        return after;
      });
    },

    remove: (caller, resourceId) =>
      db.transaction(async (tx) => {
        const resource = await lockOwned(tx, caller, resourceId);
        const now = isoTime(clock);
        const shares = await deleteShares(tx, resource.resourceId);
        await withdrawOffers(tx, resource.resourceId, now);
        const { removed: grants } = await revokeGrants(tx, caller, resource, {});
        const { status } = resource.verification;
        const isForgotten = status === 'pending' && !(await hasOffers(tx, resource.resourceId));
        if (isForgotten) await deletePending(tx, resource.resourceId);
        else await markDeleted(tx, resource.resourceId, now);
        const reason = 'resource.deleted';
        await ledger.recordAll(tx, [
          resourceEvent(caller, reason, resource),
          ...shares.flatMap((share) => shareEvents(caller, 'resource.unshared', resource, share, reason)),
          ...grants.map((grant) => grantEvent(caller, 'grant.removed', resource, grant, reason)),
        ]);
      }),
  };
}

const pendingVerification = ({ verification }: Resource, token: string): Resource['verification'] => ({
  ...verification,
  status: 'pending',
  token,
});

const namesOf = ({ scopes }: Resource): string[] => scopes.map(({ name }) => name);

function requireValid(problems: readonly FieldProblem[]): void {
  if (problems.length > 0) throw validationError('body', problems);
}

function scopeProblems(wanted: NewScopes): FieldProblem[] {
  const seen = new Set<string>();
  return wanted.flatMap(({ name }, index) => {
    const problem = isScope(name)
      ? "is the name of a scope of this server's own API"
      : seen.has(name)
        ? 'is the name of another scope too'
        : undefined;
    seen.add(name);
    return problem ? [{ in: 'body', field: `scopes[${index}].name`, message: problem }] : [];
  });
}

const peopleScopeProblems = (
  wanted: readonly string[],
  scopes: readonly { readonly name: string }[],
): FieldProblem[] =>
  wanted.flatMap((name, index) =>
    scopes.some((scope) => scope.name === name)
      ? []
      : [{ in: 'body', field: `peopleScopes[${index}]`, message: 'is not a scope of the API' }],
  );

/** People could lend the added scopes to any client after the delegation has ended. */
function refuseBorrowedLending(
  caller: Caller,
  before: Pick<Resource, 'peopleScopes' | 'approvers'>,
  after: Resource,
): void {
  const adds = (['peopleScopes', 'approvers'] as const).some((field) =>
    after[field].some((item) => !before[field].includes(item)),
  );
  if (adds)
    refuseBorrowedScope(
      caller,
      'resources:write',
      'A delegated token can let people lend more of an API only if your own agent may hold resources:write.',
    );
}

const lowerCased = (ids: readonly string[]): string[] => [...new Set(ids.map((id) => id.toLowerCase()))];

const withDescriptions = (wanted: NewScopes): Resource['scopes'] =>
  wanted.map(({ name, description }) => ({ name, description: description ?? null }));

const describedTypes = (wanted: NewAuthorizationDetailTypes): AuthorizationDetailType[] =>
  wanted.map(({ type, description, schema }) => ({ type, description: description ?? null, schema }));

const inContractOrder = (wanted: readonly ResourceClaim[]): ResourceClaim[] =>
  resourceClaims.filter((claim) => wanted.includes(claim));

/** A scope that the resource loses is no longer lent. */
const normalized = (
  before: Resource,
  { scopes, claims, peopleScopes, approvers, authorizationDetailTypes, ...rest }: ResourceChange,
): Partial<Resource> => ({
  ...rest,
  ...(scopes && {
    scopes: withDescriptions(scopes),
    peopleScopes: before.peopleScopes.filter((kept) => scopes.some(({ name }) => name === kept)),
  }),
  ...(claims && { claims: inContractOrder(claims) }),
  ...(peopleScopes && { peopleScopes }),
  ...(approvers && { approvers: lowerCased(approvers) }),
  ...(authorizationDetailTypes && {
    authorizationDetailTypes: describedTypes(authorizationDetailTypes),
  }),
});

const changedFields = (before: Resource, change: Partial<Resource>): string[] =>
  Object.entries(change)
    .filter(([field, value]) => !isDeepStrictEqual(value, before[field as keyof Resource]))
    .map(([field]) => field);
