/** Random changes of a resource, its share and its grants over HTTP, and a model that says what each leaves. */
import fc from 'fast-check';
import type { Answer, TestApp } from '../../harness.ts';
import { allTenantScopes, createResourceClient, type TestAgent } from './resources.ts';

type Scopes = readonly string[];

export interface ResourceModel {
  resource: Scopes;
  share: Scopes | undefined;
  /** By the position among the grantees. */
  readonly grants: Map<number, Scopes>;
}

export type Change =
  | { readonly act: 'patch' | 'share'; readonly scopes: Scopes }
  | { readonly act: 'unshare' }
  | { readonly act: 'grant'; readonly who: number; readonly scopes: Scopes }
  | { readonly act: 'revoke'; readonly who: number };

const allScopes: Scopes = ['a', 'b', 'c', 'd'];
/** Two of the owner, then two of the recipient of the share. */
const granteeCount = 4;

export const someScopes = fc.subarray([...allScopes], { minLength: 1 });
export const someGrantee = fc.nat({ max: granteeCount - 1 });
export const someChange: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ act: fc.constantFrom('patch' as const, 'share' as const), scopes: someScopes }),
  fc.constant({ act: 'unshare' as const }),
  {
    arbitrary: fc.record({ act: fc.constant('grant' as const), who: someGrantee, scopes: someScopes }),
    weight: 3,
  },
  fc.record({ act: fc.constant('revoke' as const), who: someGrantee }),
);

export const isWithin = (some: Scopes, all: Scopes): boolean => some.every((name) => all.includes(name));
const isOfOwner = (who: number): boolean => who < granteeCount / 2;
const usable = ({ resource, share }: ResourceModel, who: number): Scopes =>
  isOfOwner(who) ? resource : (share ?? []);

/** The grants that remain within the resource and the share. */
function narrow(model: ResourceModel): void {
  if (model.share) {
    model.share = model.share.filter((name) => model.resource.includes(name));
    if (model.share.length === 0) model.share = undefined;
  }
  for (const [who, scopes] of [...model.grants]) {
    const kept = scopes.filter((name) => usable(model, who).includes(name));
    if (kept.length > 0) model.grants.set(who, kept);
    else model.grants.delete(who);
  }
}

/** Applies the change to the model; returns the expected status. */
export function expectedOf(model: ResourceModel, change: Change): number {
  switch (change.act) {
    case 'patch':
      model.resource = change.scopes;
      break;
    case 'share':
      if (!isWithin(change.scopes, model.resource)) return 400;
      model.share = change.scopes;
      break;
    case 'unshare':
      if (!model.share) return 404;
      model.share = undefined;
      break;
    case 'grant':
      if (!isOfOwner(change.who) && !model.share) return 404;
      if (!isWithin(change.scopes, usable(model, change.who))) return 400;
      model.grants.set(change.who, change.scopes);
      break;
    case 'revoke':
      if (!model.grants.delete(change.who)) return 404;
      break;
  }
  narrow(model);
  return change.act === 'unshare' || change.act === 'revoke' ? 204 : 200;
}

export async function createResourceChanges(t: TestApp) {
  const { call, agentIn, tenant, resource, share, unshare, grant, revoke } = createResourceClient(t);
  const owner = await tenant();
  const recipient = await tenant();
  const admin = await agentIn(recipient.organizationId, allTenantScopes, 'admin');
  const grantees: readonly TestAgent[] = [owner, await agentIn(owner.organizationId), recipient, admin];
  const granteeAt = (who: number) => grantees[who] as TestAgent;
  const granterOf = (who: number) => (isOfOwner(who) ? owner : admin);

  return {
    granteeAt,
    async newModel() {
      const scopes = allScopes.map((name) => ({ name }));
      const { resourceId, identifier } = await resource(owner, { scopes });
      const model: ResourceModel = { resource: allScopes, share: undefined, grants: new Map() };
      return { resourceId, identifier, model };
    },
    shareWithRecipient: (resourceId: string, scopes: Scopes) =>
      share(owner, resourceId, recipient.organizationId, scopes),
    remove: (resourceId: string) => call('DELETE', `/resources/${resourceId}`, owner.token),
    send(resourceId: string, change: Change): Promise<Answer> {
      switch (change.act) {
        case 'patch':
          return call('PATCH', `/resources/${resourceId}`, owner.token, {
            scopes: change.scopes.map((name) => ({ name })),
          });
        case 'share':
          return share(owner, resourceId, recipient.organizationId, change.scopes);
        case 'unshare':
          return unshare(owner, resourceId, recipient.organizationId);
        case 'grant':
          return grant(granterOf(change.who), granteeAt(change.who).agentId, resourceId, change.scopes);
        case 'revoke':
          return revoke(granterOf(change.who), granteeAt(change.who).agentId, resourceId);
      }
    },
  };
}
