import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  allTenantScopes,
  createResourceClient,
} from '../../../test/support/scenarios/resources/resources.ts';
import { startWebhookApp } from '../../../test/support/scenarios/webhooks.ts';
import { nilUuid } from '../../kernel/ids.ts';

const t = await startWebhookApp();
const { call, agentIn, tenant, resource, offer, accept, grant } = createResourceClient(t);

/** Subscribes to all events; returns a reader of the deliveries about resources and grants, oldest first. */
async function subscribe({ token }: { token: string }) {
  const subscription = await call('POST', '/webhooks', token, {
    name: 'All',
    url: 'https://receiver.invalid/hook',
    events: [
      ...['resource.created', 'resource.shared', 'resource.unshared', 'grant.changed', 'grant.removed'],
      ...['share.offered', 'share.accepted'],
    ],
  });
  assert.equal(subscription.status, 201, subscription.text);
  return async (): Promise<{ type: string; organizationId: string; data: object }[]> => {
    await t.app.deliveries.fanOut();
    const { json } = await call('GET', `/webhooks/${subscription.json.id}/deliveries`, token);
    return json.deliveries.map(({ payload }: { payload: object }) => payload).reverse();
  };
}

it('subscribers of both organizations get the events of a share, and those of the recipient nothing about the owner', async () => {
  const owner = await tenant();
  const recipient = await tenant();
  const admin = await agentIn(recipient.organizationId, allTenantScopes, 'admin');
  const [ours, theirs] = [await subscribe(owner), await subscribe(recipient)];
  const { resourceId, identifier } = await resource(owner);
  await offer(owner, resourceId, recipient.organizationId, ['refund']);
  await accept(admin, resourceId);
  await grant(admin, recipient.agentId, resourceId, ['refund']);
  await call('DELETE', `/resources/${resourceId}/shares/${recipient.organizationId}`, owner.token);
  const shared = { resourceId, identifier, organizationId: recipient.organizationId, scopes: ['refund'] };
  const ownerId = owner.organizationId;
  const offered = { ...shared, ownerId, scopes: [], offeredScopes: ['refund'] };
  const granted = { agentId: recipient.agentId, resourceId, identifier, scopes: ['refund'] };
  const byType = (one: readonly unknown[], other: readonly unknown[]) =>
    String(one[0]).localeCompare(String(other[0]));
  assert.deepEqual((await theirs()).map(({ type, data }) => [type, data]).sort(byType), [
    ['grant.changed', granted],
    ['grant.removed', granted],
    ['resource.shared', { agentId: admin.agentId, ...shared }],
    ['resource.unshared', { agentId: nilUuid, ...shared }],
    ['share.accepted', { agentId: admin.agentId, ownerId, ...shared }],
    ['share.offered', { agentId: nilUuid, ...offered }],
  ]);
  assert.deepEqual((await ours()).map(({ type, data }) => [type, data]).sort(byType), [
    [
      'resource.created',
      {
        agentId: owner.agentId,
        resourceId,
        identifier,
        name: 'Orders',
        scopes: ['orders:read', 'orders:write', 'refund'],
        tokenLifetimeSeconds: 3600,
      },
    ],
    ['resource.shared', { agentId: nilUuid, ...shared }],
    ['resource.unshared', { agentId: owner.agentId, ...shared }],
    ['share.accepted', { agentId: nilUuid, ownerId, ...shared }],
    ['share.offered', { agentId: owner.agentId, ...offered }],
  ]);
});
