/** The audit log refuses events of marked agents and organizations: their changes are rolled back, other callers are not affected. */

import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { scopes } from '../../src/contract/scopes.ts';
import { succeeding } from '../matrix/all-rows.ts';
import {
  asTenantAdmin,
  changesNothing,
  type Target,
  type TestRequest,
  validTokenRequest,
} from '../matrix/matrix-rows.ts';
import { type Answer, startApp, startOfMinute } from '../support/harness.ts';
import { createMatrixFixture, send } from '../support/principals.ts';
import { until } from '../support/programs.ts';
import { giveStream } from '../support/scenarios/signals.ts';

const t = await startApp({
  // Over plain http, sessions of the console begin on loopback addresses only.
  BASE_URL: 'http://countersign.localhost',
  MULTI_TENANT: 'true',
  BILLING_ALLOW_EMBEDDED: 'true',
  WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
});
const { makeTarget, agentIn } = await createMatrixFixture(t);
/** Holds every scope, as the operator does. */
const marked = await agentIn(t.operator.organizationId, scopes);

await t.sql('create schema faults');
await t.sql('create table faults.marked (id uuid)');
await t.sql(`
  create function faults.refuse() returns trigger language plpgsql as $$ begin
    if exists (select from faults.marked m where m.id::text in (new.agent_id::text, new.organization_id::text, new.metadata ->> 'actorId')) then
      raise 'the disk of this agent is on fire';
    end if;
    return new;
  end $$`);
await t.sql(
  'create trigger refuse before insert on audit_events for each row execute function faults.refuse()',
);

const mark = (...ids: string[]) => t.sql('insert into faults.marked select unnest($1::uuid[])', [ids]);
const unmark = () => t.sql('delete from faults.marked');
beforeEach(unmark);

const tables = await t.sql<{ name: string }>(
  `select oid::regclass::text as name from pg_class
   where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
     and relname <> 'credential_uses' order by 1`,
);
const selectAll = tables
  .map(({ name }) => `select '${name}' as name, to_jsonb(r)::text as row from ${name} r`)
  .join(' union all ');

/** Every row of every table, to compare before and after. The times of last use are written on their own, without an event. */
async function allRows(): Promise<Record<string, string[]>> {
  const contents: Record<string, string[]> = Object.fromEntries(tables.map(({ name }) => [name, []]));
  for (const { name, row } of await t.sql<{ name: string; row: string }>(`${selectAll} order by 1, 2`))
    contents[name]?.push(row);
  return contents;
}

function assertServerError({ status, json, text }: Answer, url: string) {
  assert.equal(status, 500, text);
  const atToken = url === '/api/v1/token';
  assert.equal(atToken ? json.error : json.code, atToken ? 'server_error' : 'INTERNAL_SERVER_ERROR');
  assert.doesNotMatch(text, /fire|marked|trigger|access_token|clientSecret/);
}

async function assertNothingChanges(request: TestRequest, token: string | undefined): Promise<void> {
  // Deliveries of earlier events are made on their own, after the commit.
  await until('the fan-out of earlier events', async () => {
    const waiting = await t.sql('select from webhook_outbox');
    return waiting.length === 0 || undefined;
  });
  const before = await allRows();
  assertServerError(await send(t, request, token), request.url);
  assert.deepEqual(await allRows(), before);
}

describe('a change whose audit event cannot be written', () => {
  it('the comparison covers the tables that hold rows', async () => {
    await makeTarget();
    const filled = Object.entries(await allRows()).filter(([, rows]) => rows.length > 0);
    for (const table of ['agents', 'agent_counts', 'audit_events', 'credentials', 'organizations'])
      assert.ok(
        filled.some(([name]) => name === table),
        table,
      );
  });

  const writing = t.app.routes.filter(({ method, id }) => method !== 'GET' && !(id in changesNothing));
  for (const { id, method, path } of writing) {
    it(`500 ${method} ${path} (${id}) when its event cannot be written; no row changes`, async () => {
      const target = await makeTarget();
      const request = succeeding(id)?.(target);
      assert.ok(request, `${id} has no row in test/matrix/matrix-rows.ts`);
      const token = asTenantAdmin.has(id)
        ? (await agentIn(target.organizationId, [], 'admin')).token
        : marked.token;
      if (path.includes('/ssf/')) await giveStream(t, target.streamId, marked.agentId);
      await mark(marked.agentId, target.agentId, target.organizationId);
      await assertNothingChanges(request, token);

      // Caches are unchanged too: the agent, its organization and its token still work.
      const stillThere = await t.call('GET', `/api/v1/agents/${target.agentId}`, { token: target.token });
      assert.deepEqual([stillThere.status, stillThere.json.owner], [200, 'talent-team']);

      await unmark();
      const { status, text } = await send(t, request, token);
      assert.ok(status < 300, `${status} ${text}: succeeds once the log accepts the event`);
    });
  }

  it('500 server_error when the refusal of a token request cannot be recorded', async () => {
    const target = await makeTarget();
    await mark(target.agentId);
    const { form, ...request } = validTokenRequest(target);
    for (const changes of [{ client_secret: 'cs_wrong' }, { scope: 'admin:orgs' }])
      await assertNothingChanges({ ...request, form: { ...form, ...changes } }, undefined);
  });

  it('500 INTERNAL_SERVER_ERROR when a refusal by policy cannot be recorded', async () => {
    const { organizationId } = await makeTarget();
    const member = await agentIn(organizationId, [], 'member');
    await mark(member.agentId);
    const payload = { name: 'Mine', slug: 'mine' };
    await assertNothingChanges({ method: 'POST', url: '/api/v1/organizations', payload }, member.token);
  });
});

describe('concurrent token requests in one batch', () => {
  const ask = (target: Target, changes: Record<string, string> = {}) =>
    t.askToken({ ...validTokenRequest(target).form, ...changes });
  const remaining = ({ headers }: Answer) => Number(headers['x-ratelimit-remaining']);
  const eventsSince = async (before: number) =>
    (
      await t.sql<{ agent_id: string; action: string }>(
        'select agent_id, action from audit_events order by occurred_at, event_id offset $1',
        [before],
      )
    )
      .map(({ agent_id, action }) => `${agent_id} ${action}`)
      .sort();

  it('200 for valid clients, 401 for wrong secrets, 500 for marked agents; one event and one count each', async () => {
    const others = await Promise.all(Array.from({ length: 20 }, () => makeTarget()));
    const wrong = await Promise.all(Array.from({ length: 5 }, () => makeTarget()));
    const markedTargets = await Promise.all(Array.from({ length: 3 }, () => makeTarget()));
    await mark(...markedTargets.map(({ agentId }) => agentId));
    startOfMinute(t.clock);
    const windowsBefore = (await Promise.all(others.map((target) => ask(target)))).map(remaining);

    for (let round = 1; round <= 5; round += 1) {
      const [{ count: before } = { count: 0 }] = await t.sql<{ count: number }>(
        'select count(*)::int as count from audit_events',
      );
      const asked = await Promise.all([
        ...markedTargets.map((target) => ask(target)),
        ...others.map((target) => ask(target)),
        ...wrong.map((target) => ask(target, { client_secret: 'cs_wrong' })),
      ]);
      const [failed, served, refused] = [asked.slice(0, 3), asked.slice(3, 23), asked.slice(23)];
      for (const answer of failed) assertServerError(answer, '/api/v1/token');
      assert.deepEqual([...new Set(served.map(({ status }) => status))], [200]);
      assert.deepEqual([...new Set(refused.map(({ status }) => status))], [401]);
      assert.deepEqual(
        await eventsSince(before),
        [
          ...others.map(({ agentId }) => `${agentId} token.issued`),
          ...wrong.map(({ agentId }) => `${agentId} token.refused`),
        ].sort(),
      );
      // The batch was retried, but each request is counted once.
      assert.deepEqual(
        served.map(remaining),
        windowsBefore.map((left) => left - round),
      );
    }
  });
});
