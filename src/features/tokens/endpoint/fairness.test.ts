/** Organizations take turns at the token endpoint. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startApp } from '../../../../test/support/harness.ts';
import { createTenant } from '../../../../test/support/scenarios/plans.ts';

const t = await startApp();

it('a request behind 500 of another organization is answered with the next batch', async () => {
  const { organizationId } = await createTenant(t, { planTier: 'enterprise' });
  const quiet = await t.agent({ organization_id: organizationId });
  const ask = ({ clientId, clientSecret }: { clientId: string; clientSecret: string }) =>
    t.askToken({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret });
  // Both secrets are cached, so that all requests are in the queue at once.
  await Promise.all([ask(t.operator), ask(quiet)]);
  const answered: string[] = [];
  const asking = (name: string, client: { clientId: string; clientSecret: string }) =>
    ask(client).then(({ status, text }) => {
      assert.equal(status, 200, text);
      answered.push(name);
    });
  await Promise.all([
    ...Array.from({ length: 500 }, () => asking('busy', t.operator)),
    asking('quiet', quiet),
  ]);
  // The batch that was in flight when it arrived, and its own.
  const before = answered.indexOf('quiet');
  assert.ok(before <= 200, `${before} of 500 were answered before`);
});
