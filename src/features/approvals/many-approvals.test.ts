/** 1,000 requests that wait: the lists, their totals, and the limit of an organization. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { createApprovalScenario, ownApprovals } from '../../../test/support/scenarios/approvals.ts';

const { t, api, asker, bcAuthorize, decide, member, operate, organizationId } =
  await createApprovalScenario();

const count = 1_000;
const client = await asker();
const { browser, personId } = await member();

/** Of different times; the first is the oldest. */
const insert = (person: string | null) =>
  t.sql(
    `insert into approvals (approval_id, auth_req_hash, organization_id, agent_id, audience, resource_id, scopes,
       binding_message, person_id, access_seconds, status, poll_seconds, created_at, expires_at)
     select gen_random_uuid(), sha256(($1::text || number)::bytea), $2, $3, $4, $5, '{orders:read}', 'Request ' || number,
       $6::uuid, 3600, 'pending', 5, now() + number * interval '1 ms', now() + interval '1 hour'
     from generate_series(1, $7::integer) as number`,
    [randomUUID(), organizationId, client.agentId, api.identifier, api.resourceId, person, count],
  );

interface Listed {
  readonly approvalId: string;
  readonly bindingMessage: string;
}

describe('1,000 requests that wait', () => {
  it('each is on one page, newest first, and the totals are right', async () => {
    await insert(personId);
    const read = async (query: string): Promise<{ data: Listed[]; total: number }> => {
      const { status, json, text } = await browser.request(`${ownApprovals}?${query}`);
      assert.equal(status, 200, text);
      return json;
    };
    const lists = {
      own: read,
      all: (query: string) => operate('GET', `/approvals?agentId=${client.agentId}&${query}`),
    };
    const expected = Array.from({ length: count }, (_, index) => `Request ${count - index}`);
    for (const [name, list] of Object.entries(lists)) {
      const rows: Listed[] = [];
      for (let page = 1; page <= count / 100; page += 1) {
        const { data, total } = await list(`status=pending&limit=100&page=${page}`);
        assert.equal(total, count, name);
        rows.push(...data);
      }
      assert.deepEqual(
        rows.map(({ bindingMessage }) => bindingMessage),
        expected,
        name,
      );
      assert.deepEqual((await list('limit=100&page=11')).data, [], name);
    }
    assert.equal((await read('status=pending&limit=1')).total, count);
    assert.equal((await read('status=approved')).total, 0);

    // The total follows a decision.
    const [first] = (await read('status=pending&limit=1')).data;
    const answer = await decide(browser, String(first?.approvalId), { decision: 'deny' });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(
      [(await read('status=pending&limit=1')).total, (await read('limit=1')).total],
      [count - 1, count],
    );
  });

  it('requests of approvers are listed for each approver, and for no other person', async () => {
    const [one, two, stranger] = [await member(), await member(), await member()];
    await operate('PATCH', `/resources/${api.resourceId}`, { approvers: [one.personId, two.personId] });
    await insert(null);
    const totals = await Promise.all(
      [one, two, stranger].map(
        async (person) => (await person.browser.request(`${ownApprovals}?status=pending&limit=1`)).json.total,
      ),
    );
    assert.deepEqual(totals, [count, count, 0]);
  });

  it('429 for another agent of the organization, beyond 200 open requests', async () => {
    const { status, json } = await bcAuthorize(await asker(), { login_hint: personId });
    assert.equal(status, 429);
    assert.match(JSON.stringify(json), /200 open requests/);
    await t.sql(
      `update approvals set status = 'canceled' where approval_id not in
         (select approval_id from approvals where status = 'pending' limit 199)`,
    );
    assert.equal((await bcAuthorize(await asker(), { login_hint: personId })).status, 200);
    assert.equal((await bcAuthorize(await asker(), { login_hint: personId })).status, 429);
  });
});
