/** What a receiver that acknowledges nothing can cost. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createResourceClient } from '../../../test/support/scenarios/resources/resources.ts';
import { createSignalClient } from '../../../test/support/scenarios/signals.ts';

const t = await startApp();
const { call, agentIn, tenant } = createResourceClient(t);
const { receiver, pollRaw } = createSignalClient(t);

it('200: signals that come again are not signed again, in no stream of the agent; another agent gets its own', async () => {
  const owner = await tenant();
  const [api, other] = [
    await agentIn(owner.organizationId, ['tokens:read']),
    await agentIn(owner.organizationId, ['tokens:read']),
  ];
  const { agentId } = await agentIn(owner.organizationId, []);
  const suspended = await call('PATCH', `/agents/${agentId}`, owner.token, { status: 'suspended' });
  assert.equal(suspended.status, 200, suspended.text);
  const read = async (token: string) => {
    const { status, json, text } = await pollRaw(await receiver(token), { returnImmediately: true });
    assert.equal(status, 200, text);
    return json.sets as Record<string, string>;
  };
  const first = await read(api.token);
  assert.equal(Object.keys(first).length, 1);
  // A signature of a later second would have another `iat`.
  t.clock.advance(2_000);
  assert.deepEqual(await read(api.token), first);
  assert.notDeepEqual(Object.values(await read(other.token)), Object.values(first));
});
