/** The whole way with the server's own settings and loops: a mail to the person who is asked, and a ping to the agent that asked. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readable, startMailServer } from '../../../test/support/peers/mail-server.ts';
import { startReceiver, trustTestAuthority } from '../../../test/support/peers/receivers.ts';
import { until } from '../../../test/support/programs.ts';
import { createApprovalScenario } from '../../../test/support/scenarios/approvals.ts';

trustTestAuthority();
const login = { user: 'mailer', password: 'password-of-the-mailer' };
const mails = await startMailServer({ login });
const { t, issuer, asker, request, poll, decide, member, connection } = await createApprovalScenario({
  SMTP_URL: `smtp://${login.user}:${login.password}@127.0.0.1:${mails.port}`,
  MAIL_FROM: 'Countersign <approvals@id.example>',
  DATA_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  LOG_LEVEL: 'info',
});
t.app.loops.start();

describe('a request that is told of', () => {
  it('by mail to the person, with the page; then by ping to the agent, which gets its tokens', async () => {
    const receiver = await startReceiver();
    const client = await asker({ notificationUri: `https://receiver.test:${receiver.port}/ping` });
    const { browser, personId } = await member();
    await t.sql("update people set email = 'ada@example.com' where person_id = $1", [personId]);
    const { authReqId, approvalId } = await request(client, {
      login_hint: personId,
      client_notification_token: 'token-of-the-notification',
    });
    const mail = await until('the mail', async () => mails.received[0]);
    assert.deepEqual([mail.to, mail.secure, mail.user], [['ada@example.com'], true, 'mailer']);
    const text = readable(mail);
    // So that a browser without a session can offer the organization's own sign-in.
    assert.match(text, new RegExp(`/console/approvals/[0-9a-f-]+\\?connectionId=${connection.connectionId}`));
    assert.ok(text.includes(`${issuer}/console/approvals/${approvalId}`));
    assert.ok(!text.includes(authReqId) && !text.includes('token-of-the-notification'));
    const [stored] = await t.sql<{ ping: string }>('select ping from approvals where approval_id = $1', [
      approvalId,
    ]);
    assert.match(stored?.ping ?? '', /^sealed:1:/);
    assert.equal(receiver.received.length, 0);

    assert.equal((await decide(browser, approvalId)).status, 200);
    const ping = await until('the ping', async () => receiver.received[0]);
    assert.equal(ping.headers.authorization, 'Bearer token-of-the-notification');
    assert.deepEqual(JSON.parse(ping.body), { auth_req_id: authReqId });
    assert.equal((await poll(client, authReqId)).status, 200);
    await until('the end of the token', async () => {
      const [row] = await t.sql('select from approvals where approval_id = $1 and ping is null', [
        approvalId,
      ]);
      return row;
    });
    assert.deepEqual([mails.received.length, receiver.received.length], [1, 1]);
    assert.doesNotMatch(t.logs.join(''), /password-of-the-mailer|token-of-the-notification/);
  });
});
