import assert from 'node:assert/strict';
import { it } from 'node:test';
import { record } from '../../../test/audit-log.ts';
import { startApp } from '../../../test/harness.ts';

const t = await startApp({ LOG_LEVEL: 'error' });
const { audit } = t.app;

it('the watch raises no alarm over what others link while it looks', async () => {
  let over = false;
  const organizations = Array.from({ length: 10 }, () => t.app.ids.uuid());
  const others = [0, 1].map(async (index) => {
    while (!over) {
      await Promise.all(organizations.map((organizationId) => record(t, organizationId, 1)));
      // Which links everything first.
      await audit.verify(organizations[index] as string);
    }
  });
  for (let look = 0; look < 20; look += 1) await audit.watch();
  over = true;
  await Promise.all(others);
  assert.deepEqual(t.logs, []);
  assert.match(await t.app.metrics.text(), /^service_audit_chain_integrity 1$/m);
});
