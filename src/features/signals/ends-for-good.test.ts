/** What may be suspended says `permanent` when it never comes back: receivers then refuse its tokens whatever clock gave their times. */
import assert from 'node:assert/strict';
import { it } from 'node:test';

import { createAuthorizationScenario } from '../../../test/support/scenarios/authorization.ts';
import { createResourceClient } from '../../../test/support/scenarios/resources/resources.ts';
import { createSignalClient } from '../../../test/support/scenarios/signals.ts';

const scenario = await createAuthorizationScenario();
const { t, issuer, organizationId, member } = scenario;
const { call, agentIn, tenant, resource, share, grant, adminOf } = createResourceClient(t);
const { receiver, drain } = createSignalClient(t, issuer);

const ok = <T extends { readonly status: number; readonly text: string }>(answer: T): T => {
  assert.ok(answer.status < 300, answer.text);
  return answer;
};
const token = await t.token();
const stream = await receiver((await agentIn(organizationId, ['tokens:read'])).token);
/** Of the signals that this causes: the reason, and whether it is for good. */
const causes = async (change: () => Promise<unknown>, from = stream) => {
  await drain(from);
  await change();
  return (await drain(from)).map(({ event }) => [event.reason_admin.en, event.permanent ?? false]);
};
const suspend = { status: 'suspended' };

it('an agent: decommissioned, not suspended', async () => {
  const { agentId } = await agentIn(organizationId, []);
  const path = `/agents/${agentId}`;
  const found = await causes(async () => {
    ok(await call('PATCH', path, token, suspend));
    ok(await call('DELETE', path, token));
  });
  assert.deepEqual(found, [
    ['The agent was suspended.', false],
    ['The agent was decommissioned.', true],
  ]);
});

it('a person: removed, not suspended', async () => {
  const { personId } = await member();
  const path = `/organizations/${organizationId}/people/${personId}`;
  const found = await causes(async () => {
    ok(await call('PATCH', path, token, suspend));
    ok(await call('DELETE', path, token));
  });
  assert.deepEqual(found, [
    ['The person was suspended.', false],
    ['The person was removed.', true],
  ]);
});

it('an organization: deleted, not suspended; a grant and a resource: never', async () => {
  const [provider, customer] = [await tenant(), await tenant()];
  const { resourceId, identifier } = await resource(provider);
  ok(await share(provider, resourceId, customer.organizationId, ['orders:read']));
  const agent = await agentIn(customer.organizationId, []);
  const admin = await adminOf(customer.organizationId);
  ok(await grant(admin, agent.agentId, resourceId, ['orders:read']));
  const request = { grant_type: 'client_credentials', resource: identifier };
  ok(await t.askToken({ ...request, client_id: agent.clientId, client_secret: agent.clientSecret }));
  const providers = await receiver((await agentIn(provider.organizationId, ['tokens:read'])).token);
  const path = `/organizations/${customer.organizationId}`;
  const found = await causes(async () => {
    ok(await call('PATCH', path, token, suspend));
    ok(await call('DELETE', path, token));
    ok(await call('DELETE', `/resources/${resourceId}`, provider.token));
  }, providers);
  assert.deepEqual(
    found.filter(([reason]) => reason !== 'The grant was removed.'),
    [
      ['The organization was suspended.', false],
      ['The organization was deleted.', true],
      ['The API was deleted.', false],
    ],
  );
  assert.ok(found.every(([reason, isPermanent]) => reason !== 'The grant was removed.' || !isPermanent));
});
