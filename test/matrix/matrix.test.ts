import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { consoleFixture, docsFixture, startApp } from '../support/harness.ts';
import { createMatrixFixture, fieldsOf, send } from '../support/principals.ts';
import { rows } from './all-rows.ts';
import {
  answersOf,
  type Principal,
  principals,
  type Row,
  showsForeign,
  type Target,
  variants,
  workloadMayChangeItself,
} from './matrix-rows.ts';

const t = await startApp(
  {
    // Over plain http, sessions of the console begin on loopback addresses only.
    BASE_URL: 'http://countersign.localhost',
    MULTI_TENANT: 'true',
    BILLING_ALLOW_EMBEDDED: 'true',
    WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
  },
  undefined,
  { consoleFolder: consoleFixture, docsFolder: docsFixture },
);
const { makeTarget, tokenOf, workloadOf, paymentEvents } = await createMatrixFixture(t);

interface Shared {
  readonly target: Target;
  readonly tokens: Map<Principal, string | undefined>;
}

let shared: Shared | undefined;

/** Cells that only read or are refused share a target and its principals: creating them takes many requests. */
async function untouched(): Promise<Shared> {
  shared ??= { target: await makeTarget(), tokens: new Map() };
  return shared;
}

async function sharedTokenOf(who: Principal, { target, tokens }: Shared): Promise<string | undefined> {
  if (!tokens.has(who)) tokens.set(who, await tokenOf(who, target.organizationId));
  return tokens.get(who);
}

async function answerTo(
  row: Row,
  target: Target,
  token: string | undefined,
): Promise<{ answer: string; text: string }> {
  const request = row.request(target);
  const { status, text } = await send(t, request, token);
  if ((status < 400 && request.method !== 'GET') || status >= 500) shared = undefined;
  if (status < 400) return { answer: String(status), text };
  const { code, error } = JSON.parse(text);
  return { answer: `${status} ${code ?? error}`, text };
}

/** A request that changes state gets a new target and principal; the shared ones stay unchanged. */
async function answerToOwn(row: Row, who: Principal): Promise<string> {
  const kept = shared;
  const { target: sample } = await untouched();
  const target = await makeTarget(...fieldsOf(row.request, sample));
  const { answer } = await answerTo(row, target, await tokenOf(who, target.organizationId));
  shared = kept;
  return answer;
}

async function answerToShared(row: Row, who: Principal): Promise<string> {
  const own = await untouched();
  return (await answerTo(row, own.target, await sharedTokenOf(who, own))).answer;
}

const isChange = (row: Row, who: Principal, { target }: Shared) =>
  answersOf(row)[who].startsWith('2') && row.request(target).method !== 'GET';

describe('permission matrix of operations and principals', () => {
  it('has a row for every route', () => {
    assert.deepEqual(Object.keys(rows).sort(), t.app.routes.map(({ id }) => id).sort());
  });

  const matrix: Record<string, Record<string, string>> = {};
  for (const [id, row] of Object.entries({ ...rows, ...variants })) {
    it(`${id} answers each principal as its row says`, async () => {
      for (const who of principals) {
        const ask = isChange(row, who, await untouched()) ? answerToOwn : answerToShared;
        matrix[id] = { ...matrix[id], [who]: await ask(row, who) };
      }
      assert.deepEqual(matrix[id], answersOf(row));
    });

    it(`${id} does not show that a foreign id exists`, async () => {
      const own = await untouched();
      const real = own.target;
      const invented: Target = {
        issuer: real.issuer,
        organizationId: randomUUID(),
        agentId: randomUUID(),
        credentialId: randomUUID(),
        clientSecret: 'cs_invented',
        token: 'e30.e30.e30',
        sessionCookie: 'countersign=invented',
        outsiderId: randomUUID(),
        personId: randomUUID(),
        connectionId: randomUUID(),
        testerCookie: 'countersign=invented',
        signInCookie: 'countersign-sign-in=invented',
        requestId: randomUUID(),
        requestClientId: randomUUID(),
        personCookie: 'countersign=invented',
        consentId: randomUUID(),
        approvalId: randomUUID(),
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
        streamId: randomUUID(),
        resourceId: randomUUID(),
        recipientId: randomUUID(),
        granteeId: randomUUID(),
      };
      // Open routes may show foreign ids.
      const { access } = t.app.routes.find((entry) => entry.id === id) ?? {};
      if (id in showsForeign || access?.kind === 'open') return;
      const token = await sharedTokenOf('otherOrganization', own);
      const [toReal, toInvented] = [await answerTo(row, real, token), await answerTo(row, invented, token)];
      assert.equal(toReal.answer, toInvented.answer);
      if (!toReal.answer.startsWith('2')) assert.equal(toReal.text, toInvented.text);
    });
  }

  /** The parts of a target that belong to its agent. */
  const ofAgent: ReadonlySet<keyof Target> = new Set([
    ...(['agentId', 'credentialId', 'clientSecret', 'token', 'policyId', 'chainId'] as const),
    ...(['listingId', 'personId', 'outsiderId', 'granteeId'] as const),
  ]);

  it('lets a workload change its own agent only as the list says, with every scope and the role admin', async () => {
    const { target: sample } = await untouched();
    const allowed: Record<string, string> = {};
    for (const { id, method, access } of t.app.routes) {
      const request = rows[id]?.request;
      if (!request || method === 'GET' || access.kind === 'open' || access.kind === 'session') continue;
      const fields = fieldsOf(request, sample);
      if (!fields.some((field) => ofAgent.has(field))) continue;
      const made = await makeTarget(...fields, 'policyId', 'outsideToken');
      const { agentId } = made;
      const target: Target = { ...made, outsiderId: agentId, granteeId: agentId };
      const { status, text } = await send(t, request(target), await workloadOf(target));
      if (status < 400) allowed[id] = String(workloadMayChangeItself[id]);
      else
        assert.match(
          text,
          /FORBIDDEN|_NOT_FOUND|_ALREADY_|VALIDATION_ERROR|_SCOPE|LAST_ADMIN/,
          `${id}: ${status} ${text}`,
        );
    }
    assert.deepEqual(allowed, workloadMayChangeItself);
  });

  it('lets an admin of another organization write nothing where this one reads', async () => {
    const { target } = await untouched();
    const { organizationId } = target;
    const token = await tokenOf('otherOrganization', organizationId);
    const countRows = async () => {
      const [row] = await t.sql(
        `select (select count(*)::int from audit_events where organization_id = $1) as events,
                (select count(*)::int from webhook_outbox where organization_id = $1) as outbox,
                (select count(*)::int from webhook_deliveries d join webhook_subscriptions s using (subscription_id)
                 where s.organization_id = $1) as deliveries,
                (select count(*)::int from resource_shares where organization_id = $1) as shares,
                (select count(*)::int from resource_share_offers where organization_id = $1) as offers`,
        [organizationId],
      );
      return row;
    };
    await t.app.deliveries.fanOut();
    const before = await countRows();
    const asked: string[] = [];
    for (const { id, method, access } of t.app.routes) {
      const request = rows[id]?.request;
      // The others prove the caller in another way than by a token.
      const isByToken = ['bearer', 'scope', 'clientOrScope', 'clientOrBearer', 'policy'].includes(
        access.kind,
      );
      if (!request || method === 'GET' || !isByToken || id in showsForeign) continue;
      await send(t, request(target), token);
      asked.push(id);
      assert.deepEqual(await countRows(), before, id);
    }
    assert.ok(asked.length > 50, `${asked.length} operations`);
    shared = undefined;
  });

  it('prints the matrix', () => console.table(matrix, [...principals]));
});
