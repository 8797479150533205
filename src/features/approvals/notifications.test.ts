/** Pings to real receivers and mails to a real mail server. The requests themselves are rows that the test inserts. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApp } from '../../../test/support/harness.ts';
import { readable, smtpRefusal, startMailServer } from '../../../test/support/peers/mail-server.ts';
import { startReceiver, trustTestAuthority } from '../../../test/support/peers/receivers.ts';
import { createMailer } from '../../adapters/mail.ts';
import { createOutbound } from '../../adapters/outbound/outbound.ts';
import { limits } from '../../contract/limits.ts';
import { createVault } from '../../kernel/data/vault.ts';
import { createLog } from '../../kernel/observability/log.ts';
import type { Mailer } from '../../kernel/ports/mail.ts';
import { retryDelays } from './notification-sender.ts';
import { createApprovalNotifications } from './notifications.ts';

trustTestAuthority();
const t = await startApp();
const outbound = createOutbound({ allowPrivate: true });
const vault = createVault(randomBytes(32));
const logs: string[] = [];
const log = createLog({ level: 'info', destination: { write: (line) => void logs.push(line) } });
const baseUrl = 'https://id.example';

const notifierWith = (mailer: Mailer | undefined, changes = {}) =>
  createApprovalNotifications({
    ...{ db: t.app.db, ids: t.app.ids, clock: t.clock, log, outbound, vault, mailer, baseUrl },
    pause: (milliseconds: number) => sleep(milliseconds),
    ...changes,
  });

const iso = (milliseconds = 0) => new Date(t.clock.now() + milliseconds).toISOString();

interface Wanted {
  readonly agentId: string;
  readonly status?: string;
  readonly token?: string;
  readonly scopes?: readonly string[];
  readonly details?: unknown;
  readonly message?: string;
  readonly seconds?: number;
  readonly expiresInMs?: number;
}

async function insertApproval({ agentId, status = 'pending', token, ...more }: Wanted) {
  const approvalId = t.app.ids.uuid();
  const authReqId = randomUUID();
  const ping = token === undefined ? null : vault.seal(JSON.stringify({ authReqId, token }), approvalId);
  const expiresAt = iso(more.expiresInMs ?? 600_000);
  await t.sql(
    `insert into approvals
       (approval_id, auth_req_hash, organization_id, agent_id, audience, scopes, authorization_details, binding_message,
        access_seconds, status, ping, poll_seconds, created_at, expires_at)
     values ($1, $2, $3, $4, 'http://countersign.test', $5, $6, $7, $8, $9, $10, 5, $11, $12)`,
    [
      ...[approvalId, randomBytes(32), t.operator.organizationId, agentId, more.scopes ?? ['agents:read']],
      ...[more.details === undefined ? null : JSON.stringify(more.details), more.message ?? null],
      ...[more.seconds ?? 3_600, status, ping, iso(), expiresAt],
    ],
  );
  return { approvalId, authReqId, expiresAt, hasPing: ping !== null };
}

const rowsOf = (approvalId: string) =>
  t.sql<{ attempts: number }>('select attempts from approval_notifications where approval_id = $1', [
    approvalId,
  ]);
const pingOf = async (approvalId: string) =>
  (await t.sql<{ ping: string | null }>('select ping from approvals where approval_id = $1', [approvalId]))[0]
    ?.ping;

describe('ping', () => {
  const notifier = notifierWith(undefined);

  /** A decided request of an agent with this address. */
  async function decided(notificationUri: string | null) {
    const { agentId } = await t.agent({ notificationUri });
    const approval = await insertApproval({ agentId, status: 'approved', token: 'token-of-the-agent' });
    await t.app.db.transaction((tx) => notifier.decided(tx, approval));
    return { ...approval, agentId };
  }

  it('one POST of the auth_req_id with the bearer token; then the token is erased', async () => {
    const receiver = await startReceiver();
    const { approvalId, authReqId } = await decided(`${receiver.url}/n?a=b`);
    await notifier.drain();
    await notifier.drain();
    assert.equal(receiver.received.length, 1);
    const [{ method, url, headers, body }] = receiver.received as [(typeof receiver.received)[0]];
    assert.deepEqual([method, url, JSON.parse(body)], ['POST', '/n?a=b', { auth_req_id: authReqId }]);
    assert.equal(headers.authorization, 'Bearer token-of-the-agent');
    assert.equal(headers['content-type'], 'application/json');
    assert.deepEqual([await rowsOf(approvalId), await pingOf(approvalId)], [[], null]);
  });

  it('nothing without a token, and for a request that is rolled back', async () => {
    const receiver = await startReceiver();
    const { agentId } = await t.agent({ notificationUri: receiver.url });
    const without = await insertApproval({ agentId, status: 'denied' });
    await t.app.db.transaction((tx) => notifier.decided(tx, without));
    const undone = await insertApproval({ agentId, status: 'denied', token: 'x' });
    await assert.rejects(
      t.app.db.transaction(async (tx) => {
        await notifier.decided(tx, undone);
        throw new Error('undone');
      }),
    );
    await notifier.drain();
    assert.equal(receiver.received.length, 0);
  });

  const answers: [string, number, 'once' | 'again'][] = [
    ['400 is final', 400, 'once'],
    ['401 is final', 401, 'once'],
    ['404 is final', 404, 'once'],
    ['408 is tried again', 408, 'again'],
    ['429 is tried again', 429, 'again'],
    ['500 is tried again', 500, 'again'],
    ['302 is not followed', 302, 'again'],
  ];
  for (const [title, status, outcome] of answers)
    it(title, async () => {
      const elsewhere = await startReceiver();
      const receiver = await startReceiver(
        (_request, response) => void response.writeHead(status, { location: elsewhere.url }).end('a body'),
      );
      const { approvalId } = await decided(receiver.url);
      await notifier.drain();
      await notifier.drain();
      assert.equal(receiver.received.length, 1, 'not before the delay');
      t.clock.advance(retryDelays[0] ?? 0);
      await notifier.drain();
      assert.equal(receiver.received.length, outcome === 'once' ? 1 : 2);
      assert.equal((await rowsOf(approvalId)).length, outcome === 'once' ? 0 : 1);
      assert.equal((await pingOf(approvalId)) === null, outcome === 'once');
      assert.equal(elsewhere.received.length, 0);
      await t.sql('delete from approval_notifications where approval_id = $1', [approvalId]);
    });

  it('eight attempts with growing delays, then it is dropped, with a warning and without the token', async () => {
    const receiver = await startReceiver((_request, response) => void response.writeHead(503).end());
    const { approvalId } = await decided(receiver.url);
    for (const [index, delay] of retryDelays.entries()) {
      await notifier.drain();
      assert.equal(receiver.received.length, index + 1);
      t.clock.advance(delay - 2_000);
      await notifier.drain();
      assert.equal(receiver.received.length, index + 1, 'too early');
      t.clock.advance(2_000);
    }
    await notifier.drain();
    assert.equal(receiver.received.length, 8);
    t.clock.advance(86_400_000);
    await notifier.drain();
    assert.equal(receiver.received.length, 8);
    assert.deepEqual([await rowsOf(approvalId), await pingOf(approvalId)], [[], null]);
    const warning = logs.find((line) => line.includes(approvalId)) ?? '';
    assert.match(warning, /"attempts":8.*answered 503.*dropped/);
    assert.doesNotMatch(warning, /token-of-the-agent/);
  });

  it('two processes at once send each ping once; a killed process leaves it to the other', async () => {
    const receiver = await startReceiver(async (_request, response) => {
      await sleep(20);
      response.writeHead(204).end();
    });
    const sent: string[] = [];
    for (let count = 0; count < 12; count += 1) sent.push((await decided(receiver.url)).authReqId);
    await Promise.all([notifier.drain(), notifierWith(undefined).drain(), notifierWith(undefined).drain()]);
    const got = receiver.received.map(({ body }) => JSON.parse(body).auth_req_id);
    assert.deepEqual(got.toSorted(), sent.toSorted());

    const { promise: never } = Promise.withResolvers<never>();
    const started = Promise.withResolvers<void>();
    const frozen = notifierWith(undefined, {
      outbound: {
        ...outbound,
        send() {
          started.resolve();
          return never;
        },
      },
    });
    const { authReqId } = await decided(receiver.url);
    void frozen.drain();
    await started.promise;
    await notifier.drain();
    assert.equal(receiver.received.length, 12, 'the other process has the lease');
    t.clock.advance(60_000);
    await notifier.drain();
    assert.equal(JSON.parse(receiver.received[12]?.body ?? '{}').auth_req_id, authReqId);
  });

  it('nothing to a private address, unless the operator allows it', async () => {
    const receiver = await startReceiver();
    const strict = notifierWith(undefined, { outbound: createOutbound({ allowPrivate: false }) });
    const { approvalId } = await decided(receiver.url);
    await strict.drain();
    assert.deepEqual([receiver.connections(), (await rowsOf(approvalId))[0]?.attempts], [0, 1]);
    await t.sql('delete from approval_notifications where approval_id = $1', [approvalId]);
  });

  it('a purge erases tokens that nothing will send: of a canceled request, and after the last time to send', async () => {
    const { agentId } = await t.agent({ notificationUri: 'https://agent.invalid/' });
    const canceled = await insertApproval({ agentId, status: 'canceled', token: 'x' });
    const waiting = await insertApproval({ agentId, token: 'x' });
    const late = await decided('https://agent.invalid/');
    await notifier.purge();
    assert.equal(await pingOf(canceled.approvalId), null);
    assert.ok((await pingOf(waiting.approvalId)) && (await pingOf(late.approvalId)));
    t.clock.advance(1_800_000);
    await notifier.drain();
    await notifier.purge();
    assert.deepEqual([await rowsOf(late.approvalId), await pingOf(late.approvalId)], [[], null]);
  });

  it('an agent without the address any more gets none, and its token is erased', async () => {
    const { approvalId, agentId } = await decided('https://agent.invalid/');
    const payload = { notificationUri: null };
    await t.call('PATCH', `/api/v1/agents/${agentId}`, { token: await t.token(), payload });
    await notifier.drain();
    assert.deepEqual([await rowsOf(approvalId), await pingOf(approvalId)], [[], null]);
  });
});

describe('mail', async () => {
  const from = 'Countersign <approvals@id.example>';
  const agent = await t.agent();
  const [{ email: agentName = '' } = {}] = await t.sql<{ email: string }>(
    'select email from agents where agent_id = $1',
    [agent.agentId],
  );

  async function person({
    email = `p-${randomUUID()}@example.com` as string | null,
    status = 'active',
    issuer = 'https://provider.example' as string | null,
  } = {}) {
    const personId = randomUUID();
    await t.sql(
      `insert into people (person_id, organization_id, issuer, subject, name, role, email, status, created_at, updated_at)
       values ($1, $2, $3, $6, 'Ada', 'member', $4, $5, now(), now())`,
      [personId, t.operator.organizationId, issuer, email, status, issuer && personId],
    );
    return { personId, email: email ?? '' };
  }

  const mailerTo = (port: number, more: object = {}) =>
    createMailer({ server: { host: '127.0.0.1', port, tls: false, ...more }, from });

  it('no more mails than open requests are allowed in ten minutes, for an agent that asks and cancels in a loop', async () => {
    const notifier = notifierWith(mailerTo(1));
    const [{ agentId }, { personId }] = [await t.agent(), await person()];
    const mails = async () => {
      const approval = await insertApproval({ agentId, status: 'canceled' });
      await t.app.db.transaction((tx) => notifier.requested(tx, approval, [personId]));
      return (await rowsOf(approval.approvalId)).length;
    };
    for (let count = 0; count < limits.approval.openPerAgent; count += 1) assert.equal(await mails(), 1);
    assert.equal(await mails(), 0);
    t.clock.advance(600_001);
    assert.equal(await mails(), 1);
    await t.sql('delete from approval_notifications where person_id = $1', [personId]);
  });

  it('one mail to each addressed person with an address, in text and HTML, with the page and without words of the agent', async () => {
    const server = await startMailServer();
    const notifier = notifierWith(mailerTo(server.port));
    const [ada, bob] = [await person(), await person()];
    const silent = [
      await person({ email: null }),
      await person({ status: 'suspended' }),
      await person({ issuer: null }),
    ];
    const approval = await insertApproval({
      agentId: agent.agentId,
      scopes: ['orders:refund', '<b>&"scope'],
      details: [{ type: 'payment', amount: 'SECRET-AMOUNT' }],
      message: 'visit https://evil.example <script>',
      seconds: 5_401,
    });
    const addressed = [ada, bob, ...silent].map(({ personId }) => personId);
    await t.app.db.transaction((tx) => notifier.requested(tx, approval, addressed));
    await notifier.drain();
    await notifier.drain();
    assert.deepEqual(server.received.flatMap(({ to }) => to).toSorted(), [ada.email, bob.email].toSorted());
    const [mail] = server.received as [(typeof server.received)[0]];
    assert.deepEqual([mail.from, mail.to.length], ['approvals@id.example', 1]);
    const source = readable(mail);
    assert.match(source, /^Subject: An agent asks for your approval\r$/m);
    assert.match(source, /^Auto-Submitted: auto-generated\r$/m);
    const [, text = '', html = ''] = source.split(/^Content-Type: text\//m);
    assert.ok(text.startsWith('plain') && html.startsWith('html'));
    const until = `${approval.expiresAt.slice(0, 10)} ${approval.expiresAt.slice(11, 16)} UTC`;
    const sentence = `The agent ${agentName} asks for orders:refund, <b>&"scope, payment at Countersign for 1 hour 30 minutes 1 second; the request lapses at ${until}.`;
    assert.ok(text.includes(sentence), text);
    assert.ok(html.includes('orders:refund, &lt;b&gt;&amp;&quot;scope, payment'), html);
    assert.doesNotMatch(html, /<b>|<script/);
    for (const part of [text, html])
      assert.ok(part.includes(`https://id.example/console/approvals/${approval.approvalId}`));
    assert.doesNotMatch(source, /evil|SECRET-AMOUNT/);
    assert.deepEqual(await rowsOf(approval.approvalId), []);
  });

  it('no mail once the request is decided or lapsed, the person is suspended or has approved, or mail is not configured', async () => {
    const server = await startMailServer();
    const notifier = notifierWith(mailerTo(server.port));
    const requested = async (changes: object = {}) => {
      const { personId } = await person();
      const approval = await insertApproval({ agentId: agent.agentId, ...changes });
      await t.app.db.transaction((tx) => notifier.requested(tx, approval, [personId]));
      return { ...approval, personId };
    };
    const denied = await requested();
    await t.sql("update approvals set status = 'denied' where approval_id = $1", [denied.approvalId]);
    await requested({ expiresInMs: -1_000 });
    const suspended = await requested();
    await t.sql("update people set status = 'suspended' where person_id = $1", [suspended.personId]);
    const approved = await requested();
    await t.sql('update approvals set approvals = $2 where approval_id = $1', [
      approved.approvalId,
      JSON.stringify([{ personId: approved.personId, at: iso() }]),
    ]);
    await notifier.drain();
    assert.equal(server.received.length, 0);
    const { personId } = await person();
    const none = await insertApproval({ agentId: agent.agentId });
    await t.app.db.transaction((tx) => notifierWith(undefined).requested(tx, none, [personId]));
    assert.deepEqual(await rowsOf(none.approvalId), []);
  });

  it('a mail that the server cannot take now is sent later, once; one that it refuses for good is dropped', async () => {
    let answer: Error | undefined = smtpRefusal(451, 'try later');
    const server = await startMailServer({ refuse: (at) => (at === 'data' ? answer : undefined) });
    const notifier = notifierWith(mailerTo(server.port));
    const requested = async () => {
      const { personId } = await person();
      const approval = await insertApproval({ agentId: agent.agentId });
      await t.app.db.transaction((tx) => notifier.requested(tx, approval, [personId]));
      return approval;
    };
    const { approvalId } = await requested();
    await notifier.drain();
    assert.deepEqual([server.received.length, (await rowsOf(approvalId))[0]?.attempts], [0, 1]);
    answer = undefined;
    await notifier.drain();
    assert.equal(server.received.length, 0, 'not before the delay');
    t.clock.advance(retryDelays[0] ?? 0);
    await notifier.drain();
    await notifier.drain();
    assert.deepEqual([server.received.length, await rowsOf(approvalId)], [1, []]);

    answer = smtpRefusal(550, 'never');
    const refused = await requested();
    await notifier.drain();
    assert.deepEqual(await rowsOf(refused.approvalId), []);
    assert.match(logs.find((line) => line.includes(refused.approvalId)) ?? '', /never.*dropped/);

    await server.close();
    const down = await requested();
    await notifier.drain();
    assert.equal((await rowsOf(down.approvalId))[0]?.attempts, 1);
    answer = undefined;
    const back = await startMailServer({ port: server.port });
    t.clock.advance(retryDelays[0] ?? 0);
    await notifier.drain();
    assert.deepEqual([back.received.length, await rowsOf(down.approvalId)], [1, []]);
  });
});
