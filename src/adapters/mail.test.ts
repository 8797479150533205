import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { smtpRefusal, startMailServer } from '../../test/support/peers/mail-server.ts';
import { trustTestAuthority } from '../../test/support/peers/receivers.ts';
import type { SmtpAddress } from '../kernel/config/server-urls.ts';
import { MailProblem } from '../kernel/ports/mail.ts';
import { createMailer } from './mail.ts';

const login = { user: 'mailer', password: 'p@ss/word' };
const credentials = { username: login.user, password: login.password };
const mail = { id: 'an-id', to: 'ada@example.com', subject: 'A subject', text: 'Text', html: '<p>Text</p>' };

const mailerTo = (port: number, more: Partial<SmtpAddress> = {}) =>
  createMailer({
    server: { host: '127.0.0.1', port, tls: false, ...more },
    from: 'Countersign <approvals@id.example>',
  });

const problemOf = async (sending: Promise<void>): Promise<MailProblem> => {
  const error = await sending.then(
    () => assert.fail('it was sent'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof MailProblem, String(error));
  return error;
};

describe('mails over SMTP', () => {
  it('a certificate of an unknown authority ends the connection, before the password and also without one', async () => {
    const server = await startMailServer({ login });
    assert.equal((await problemOf(mailerTo(server.port, credentials).send(mail))).isFinal, false);
    const open = await startMailServer();
    assert.equal((await problemOf(mailerTo(open.port).send(mail))).isFinal, false);
    assert.deepEqual([server.logins, server.received, open.received], [[], [], []]);
    trustTestAuthority();
  });

  it('STARTTLS and TLS from the start, with a login', async () => {
    for (const tls of [false, true]) {
      const server = await startMailServer({ secure: tls, login });
      await mailerTo(server.port, { tls, ...credentials }).send(mail);
      const [{ secure, user, from, to, source }] = server.received as [(typeof server.received)[0]];
      assert.deepEqual([secure, user, from, to], [true, 'mailer', 'approvals@id.example', [mail.to]]);
      assert.match(source, /^From: Countersign <approvals@id\.example>\r$/m);
      assert.match(source, /^To: ada@example\.com\r$/m);
      assert.match(source, /^Message-ID: <an-id@id\.example>\r$/m);
    }
  });

  it('with a password, a server without STARTTLS gets neither the password nor the mail', async () => {
    const server = await startMailServer({ startTls: false, login });
    const { isFinal, message } = await problemOf(mailerTo(server.port, credentials).send(mail));
    assert.equal(isFinal, false, message);
    assert.deepEqual([server.connections(), server.logins, server.received], [1, [], []]);
  });

  it('without a password, a server without STARTTLS gets the mail', async () => {
    const server = await startMailServer({ startTls: false });
    await mailerTo(server.port).send(mail);
    assert.deepEqual(
      server.received.map(({ secure }) => secure),
      [false],
    );
  });

  it('a wrong password is a problem that may end, and the message does not repeat it', async () => {
    const server = await startMailServer({ login });
    const wrong = { ...credentials, password: 'wrong-secret' };
    const { isFinal, message } = await problemOf(mailerTo(server.port, wrong).send(mail));
    assert.equal(isFinal, false);
    assert.doesNotMatch(message, /wrong-secret/);
  });

  it('a recipient or a mail that the server refuses for good is final, for now it is not', async () => {
    for (const at of ['recipient', 'data'] as const)
      for (const [code, isFinal] of [
        [550, true],
        [450, false],
      ] as const) {
        const server = await startMailServer({
          refuse: (when) => (when === at ? smtpRefusal(code) : undefined),
        });
        assert.equal((await problemOf(mailerTo(server.port).send(mail))).isFinal, isFinal, `${at} ${code}`);
      }
  });

  it('no server is a problem that may end', async () => {
    const server = await startMailServer();
    await server.close();
    assert.equal((await problemOf(mailerTo(server.port).send(mail))).isFinal, false);
  });

  it('line breaks add no header, and an address adds no recipient', async () => {
    const server = await startMailServer();
    const subject = 'A subject\r\nBcc: eve@example.com\n\nbody\u2028';
    await mailerTo(server.port).send({ ...mail, subject });
    const [{ source, to }] = server.received as [(typeof server.received)[0]];
    assert.deepEqual(to, [mail.to]);
    const [head = ''] = source.split('\r\n\r\n');
    assert.doesNotMatch(head, /^Bcc:/im);
    const hostile = [
      'ada@example.com, eve@example.com',
      'ada@example.com\r\nRCPT TO:<eve@example.com>',
      'ada@example.com>\r\nBcc: eve@example.com',
      '"ada" <eve@example.com>',
      'ada@example.com;eve@example.com',
      'group:eve@example.com;',
      '',
    ];
    for (const address of hostile)
      assert.equal((await problemOf(mailerTo(server.port).send({ ...mail, to: address }))).isFinal, true);
    assert.equal(server.received.length, 1);
  });
});
