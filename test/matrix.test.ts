import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from './harness.ts';
import { principals, type Row, rows, type Target } from './matrix-rows.ts';
import { createWorld, send } from './world.ts';

const t = await startApp({ MULTI_TENANT: 'true' });
const { makeTarget, tokenOf } = await createWorld(t);

async function answerTo(
  row: Row,
  target: Target,
  token: string | undefined,
): Promise<{ answer: string; text: string }> {
  const { status, text } = await send(t, row.request(target), token);
  if (status < 400) return { answer: String(status), text };
  const { code, error } = JSON.parse(text);
  return { answer: `${status} ${code ?? error}`, text };
}

describe('every operation against everyone', () => {
  it('has a row for every route', () => {
    assert.deepEqual(Object.keys(rows).sort(), t.app.routes.map(({ id }) => id).sort());
  });

  const matrix: Record<string, Record<string, string>> = {};
  for (const [id, row] of Object.entries(rows)) {
    it(`${id} answers each as it should`, async () => {
      for (const who of principals) {
        const target = await makeTarget();
        const { answer } = await answerTo(row, target, await tokenOf(who, target.organizationId));
        matrix[id] = { ...matrix[id], [who]: answer };
      }
      assert.deepEqual(matrix[id], row.answers);
    });

    it(`${id} does not show that a foreign id exists`, async () => {
      const real = await makeTarget();
      const invented: Target = {
        organizationId: randomUUID(),
        agentId: randomUUID(),
        credentialId: randomUUID(),
        clientSecret: 'cs_invented',
        token: 'e30.e30.e30',
        outsiderId: randomUUID(),
        eventId: t.app.ids.orderedAt(t.clock.now()),
        webhookId: randomUUID(),
        deliveryId: randomUUID(),
      };
      // Whoever holds a token already knows that it exists.
      if (id === 'revokeToken') return;
      const token = await tokenOf('otherOrganization', real.organizationId);
      const [toReal, toInvented] = [await answerTo(row, real, token), await answerTo(row, invented, token)];
      assert.equal(toReal.answer, toInvented.answer);
      if (!toReal.answer.startsWith('2')) assert.equal(toReal.text, toInvented.text);
    });
  }

  it('prints the matrix', () => console.table(matrix, [...principals]));
});
