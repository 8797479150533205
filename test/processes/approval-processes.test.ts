/** Two processes share PostgreSQL: of decisions at the same moment exactly one wins, whichever process takes it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { listenForApprovals } from '../support/clients/listening.ts';
import { environment } from '../support/harness.ts';
import { startServe } from '../support/programs.ts';
import { cibaGrant, ownApprovals } from '../support/scenarios/approvals.ts';
import { fromPage } from '../support/scenarios/console.ts';

const scenario = await listenForApprovals();
const { t, issuer, asker, request, member, read, makeResource, setPolicy, operate } = scenario;
const other = await startServe(environment(t.databaseUrl, { BASE_URL: issuer }));
const nodes = [issuer, other.url];

const people = [await member(), await member()];
type Person = (typeof people)[number];
const api = await makeResource({ approvers: people.map(({ personId }) => personId) });
const client = await asker();
const ask = () =>
  request(client, { resource: api.identifier, login_hint: 'approvers', scope: 'orders:read' });

const post = async (url: string, headers: Record<string, string>, body: string | URLSearchParams) => {
  const response = await fetch(url, { method: 'POST', headers, body });
  const json = (await response.json()) as { code?: string; status?: string; error?: string };
  return { status: response.status, json };
};

const decideAt = (node: string, { browser }: Person, approvalId: string, decision: string) =>
  post(
    `${node}${ownApprovals}/${approvalId}`,
    {
      ...fromPage,
      'content-type': 'application/json',
      cookie: browser
        .cookies(issuer)
        .map(({ name, value }) => `${name}=${value}`)
        .join('; '),
    },
    JSON.stringify({ decision }),
  );

const pollAt = (node: string, authReqId: string) =>
  post(
    `${node}/api/v1/token`,
    {},
    new URLSearchParams({ grant_type: cibaGrant, auth_req_id: authReqId, ...client.credentials }),
  );

const chainsOf = async () =>
  Number(
    (
      await t.sql<{ chains: string }>('select count(*) as chains from delegations where delegatee_id = $1', [
        client.agentId,
      ])
    )[0]?.chains,
  );

describe('decisions at two processes', () => {
  it('of 8 at the same moment one counts; the others are 409, and both processes say the same', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { approvalId, authReqId } = await ask();
      const before = await chainsOf();
      const sent = people.flatMap((person) =>
        nodes.flatMap((node) =>
          ['approve', 'deny'].map((decision) => ({ node, person, decision, by: person.personId })),
        ),
      );
      const answers = await Promise.all(
        sent.map(async (one) => ({
          ...one,
          ...(await decideAt(one.node, one.person, approvalId, one.decision)),
        })),
      );
      const [winner, ...more] = answers.filter(({ status }) => status === 200);
      assert.ok(winner, JSON.stringify(answers.map(({ json }) => json)));
      assert.deepEqual(more, []);
      for (const { status, json } of answers)
        assert.ok(
          status === 200 || (status === 409 && json.code === 'APPROVAL_NOT_PENDING'),
          JSON.stringify(json),
        );
      const wanted = winner.decision === 'approve' ? 'approved' : 'denied';
      const { status, decidedBy } = await read(approvalId);
      assert.deepEqual([status, decidedBy, winner.json.status], [wanted, winner.by, wanted]);
      assert.equal(await chainsOf(), before + (wanted === 'approved' ? 1 : 0));
      const events = await t.sql<{ action: string }>(
        "select action from audit_events where metadata ->> 'approvalId' = $1 and action <> 'approval.requested'",
        [approvalId],
      );
      assert.deepEqual(events, [{ action: `approval.${wanted}` }]);

      // The tokens come once, whichever process is polled.
      const polls = await Promise.all([...nodes, ...nodes].map((node) => pollAt(node, authReqId)));
      const outcomes = polls.map((poll) => (poll.status === 200 ? 'token' : poll.json.error)).sort();
      assert.deepEqual(
        outcomes,
        wanted === 'approved'
          ? ['invalid_grant', 'invalid_grant', 'invalid_grant', 'token']
          : Array.from({ length: 4 }, () => 'access_denied'),
      );
    }
  });

  it('requireTwo: one person at both processes counts once', async () => {
    await setPolicy({ requireTwo: [api.identifier] });
    const [one, two] = people as [Person, Person];
    const { approvalId } = await ask();
    const answers = await Promise.all(
      [...nodes, ...nodes].map((node) => decideAt(node, one, approvalId, 'approve')),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409]);
    const waiting = await read(approvalId);
    assert.deepEqual([waiting.status, waiting.approvals.length], ['pending', 1]);
    const last = await Promise.all(nodes.map((node) => decideAt(node, two, approvalId, 'approve')));
    assert.deepEqual(last.map(({ status }) => status).sort(), [200, 409]);
    assert.equal((await read(approvalId)).status, 'approved');
    await setPolicy({});
  });

  it('a cancellation or a suspension at one process, and an approval at the other: one of them', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { approvalId, authReqId } = await ask();
      const [canceled, decided] = await Promise.all([
        t.call('DELETE', `/api/v1/approvals/${approvalId}`, { token: await t.token() }),
        decideAt(other.url, people[0] as Person, approvalId, 'approve'),
      ]);
      const { status } = await read(approvalId);
      assert.deepEqual(
        [canceled.status, decided.status],
        status === 'canceled' ? [204, 409] : [409, 200],
        status,
      );
      assert.equal(
        (await pollAt(other.url, authReqId)).json.error,
        status === 'canceled' ? 'access_denied' : undefined,
      );
    }
    const { approvalId, authReqId } = await ask();
    const [, decided] = await Promise.all([
      operate('PATCH', `/agents/${client.agentId}`, { status: 'suspended' }),
      decideAt(other.url, people[0] as Person, approvalId, 'approve'),
    ]);
    const { status } = await read(approvalId);
    assert.equal(decided.status, status === 'approved' ? 200 : 409, JSON.stringify(decided.json));
    assert.notEqual((await pollAt(other.url, authReqId)).status, 200);
  });
});
