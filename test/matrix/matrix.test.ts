import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { createWorld, send } from '../support/actors.ts';
import { startApp } from '../support/harness.ts';
import { principals, type Row, rows, showsForeign, type Target } from './matrix-rows.ts';

const t = await startApp({
  MULTI_TENANT: 'true',
  BILLING_ALLOW_EMBEDDED: 'true',
  WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
});
const { makeTarget, tokenOf, paymentEvents } = await createWorld(t);

let spare: Target | undefined;

/** As nobody has changed it: what is refused, or only reads, leaves a target as it was, and making one takes many requests. */
async function untouched(): Promise<Target> {
  spare ??= await makeTarget();
  return spare;
}

async function answerTo(
  row: Row,
  target: Target,
  token: string | undefined,
): Promise<{ answer: string; text: string }> {
  const request = row.request(target);
  const { status, text } = await send(t, request, token);
  if ((status < 400 && request.method !== 'GET') || status >= 500) spare = undefined;
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
      spare = undefined;
      for (const who of principals) {
        const target = await untouched();
        const { answer } = await answerTo(row, target, await tokenOf(who, target.organizationId));
        matrix[id] = { ...matrix[id], [who]: answer };
      }
      assert.deepEqual(matrix[id], row.answers);
    });

    it(`${id} does not show that a foreign id exists`, async () => {
      const real = await untouched();
      const invented: Target = {
        organizationId: randomUUID(),
        agentId: randomUUID(),
        credentialId: randomUUID(),
        clientSecret: 'cs_invented',
        token: 'e30.e30.e30',
        outsiderId: randomUUID(),
        eventId: t.app.ids.uuidV7(t.clock.now()),
        partnerId: randomUUID(),
        policyId: randomUUID(),
        outsideToken: 'e30.e30.e30',
        checkoutToken: 'bs_invented',
        portalToken: 'bs_invented',
        paymentEvent: await paymentEvents.about(randomUUID(), {}),
        chainId: randomUUID(),
        delegationToken: 'e30.e30.e30',
        colleagueId: randomUUID(),
        listingId: randomUUID(),
        webhookId: randomUUID(),
        deliveryId: randomUUID(),
      };
      // What is open to anyone is meant to be seen.
      const { access } = t.app.routes.find((entry) => entry.id === id) ?? {};
      if (id in showsForeign || access?.kind === 'open') return;
      const token = await tokenOf('otherOrganization', real.organizationId);
      const [toReal, toInvented] = [await answerTo(row, real, token), await answerTo(row, invented, token)];
      assert.equal(toReal.answer, toInvented.answer);
      if (!toReal.answer.startsWith('2')) assert.equal(toReal.text, toInvented.text);
    });
  }

  it('prints the matrix', () => console.table(matrix, [...principals]));
});
