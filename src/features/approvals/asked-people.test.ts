/** Who learns of a request by mail. Nothing is sent: the loops do not run. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { createApprovalScenario } from '../../../test/support/scenarios/approvals.ts';

const { t, asker, request, member, makeResource, setPolicy, provider } = await createApprovalScenario({
  SMTP_URL: 'smtp://127.0.0.1:2525',
  MAIL_FROM: 'countersign@example.com',
});

const withEmail = async () => {
  const login = `person-${randomUUID()}`;
  provider.accounts[login] = { email: `${login}@example.com`, email_verified: true };
  return member(login);
};

const mailedTo = async (approvalId: string) => {
  const rows = await t.sql<{ id: string }>(
    `select person_id as id from approval_notifications where approval_id = $1 and kind = 'mail' order by person_id`,
    [approvalId],
  );
  return rows.map(({ id }) => id);
};

it('the person, or all approvers; where two must approve, the person and all approvers', async () => {
  const [one, two, three] = [await withEmail(), await withEmail(), await withEmail()];
  const approvers = [one.personId, two.personId].sort();
  const { identifier: resource } = await makeResource({ approvers });
  const client = await asker();
  const ask = async (login_hint: string) => (await request(client, { resource, login_hint })).approvalId;
  assert.deepEqual(await mailedTo(await ask(three.personId)), [three.personId]);
  assert.deepEqual(await mailedTo(await ask('approvers')), approvers);
  await setPolicy({ requireTwo: [resource] });
  assert.deepEqual(await mailedTo(await ask(three.personId)), [...approvers, three.personId].sort());
  assert.deepEqual(await mailedTo(await ask(one.personId)), approvers);
  assert.deepEqual(await mailedTo(await ask('approvers')), approvers);
});
