import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { type Row, runsTests, sameForAll } from '../../../test/matrix/matrix-rows.ts';
import type { TestBrowser } from '../../../test/support/clients/browser.ts';
import { until } from '../../../test/support/programs.ts';
import { createApprovalScenario } from '../../../test/support/scenarios/approvals.ts';
import { limits } from '../../contract/limits.ts';

const url = '/console/api/me/approvals/events';

export const access: Record<string, Row> = {
  // The session cookie alone counts; an access token is ignored.
  streamOwnApprovals: {
    request: ({ personCookie: cookie }) => ({ method: 'GET', url, headers: { cookie }, stream: true }),
    answers: sameForAll('200'),
  },
};

if (runsTests(import.meta))
  describe('the stream of a person', async () => {
    const scenario = await createApprovalScenario();
    const { t, operate, organizationId, asker, request, decide, member, admin, makeResource } = scenario;
    t.app.loops.start();
    const base = await t.app.http.server.listen({ host: '127.0.0.1', port: 0 });

    const ask = async ({ browser }: { browser: TestBrowser }) => {
      const cookie = browser
        .cookies(url)
        .map(({ name, value }) => `${name}=${value}`)
        .join('; ');
      const sent = httpRequest(`${base}${url}`, { agent: false, headers: { cookie } }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      sent.on('error', () => {});
      return response;
    };

    async function open(person: { browser: TestBrowser }) {
      const response = await ask(person);
      assert.equal(response.statusCode, 200);
      assert.equal(response.headers['content-type'], 'text/event-stream');
      let received = '';
      let isEnded = false;
      response.setEncoding('utf8').on('data', (chunk) => (received += chunk));
      response.once('end', () => (isEnded = true)).on('error', () => {});
      after(() => response.destroy());
      await until('the opening', async () => received.includes('\n\n') || undefined);
      const messages = () =>
        received
          .split('\n\n')
          .filter((block) => block.includes('data:'))
          .map((block) => {
            const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
            return [event, JSON.parse(data ?? 'null')];
          });
      return {
        text: () => received,
        messages,
        /** Waits for a status of the request. */
        got: (approvalId: string, status: string) =>
          until(`${status} of ${approvalId}`, async () =>
            messages().find(([, data]) => data.approvalId === approvalId && data.status === status),
          ),
        ended: () => until('the end', async () => isEnded || undefined),
        close: () => response.destroy(),
      };
    }

    it('200: each change of the requests that are addressed to the person, and of no other', async () => {
      const client = await asker();
      const [ada, bob] = [await member(), await member()];
      const [streamA, streamB] = [await open(ada), await open(bob)];
      const forAda = await request(client, { login_hint: ada.personId });
      await streamA.got(forAda.approvalId, 'pending');
      await decide(ada.browser, forAda.approvalId);
      await streamA.got(forAda.approvalId, 'approved');
      const forBob = await request(client, { login_hint: bob.personId });
      await decide(bob.browser, forBob.approvalId, { decision: 'deny' });
      await streamB.got(forBob.approvalId, 'denied');
      const canceled = await request(client, { login_hint: ada.personId });
      await operate('DELETE', `/approvals/${canceled.approvalId}`);
      await streamA.got(canceled.approvalId, 'canceled');
      assert.deepEqual(streamA.messages(), [
        ['approval', { approvalId: forAda.approvalId, status: 'pending' }],
        ['approval', { approvalId: forAda.approvalId, status: 'approved' }],
        ['approval', { approvalId: canceled.approvalId, status: 'pending' }],
        ['approval', { approvalId: canceled.approvalId, status: 'canceled' }],
      ]);
      assert.deepEqual(streamB.messages(), [
        ['approval', { approvalId: forBob.approvalId, status: 'pending' }],
        ['approval', { approvalId: forBob.approvalId, status: 'denied' }],
      ]);
      // Numbers of events would tell a member how much the organization does.
      assert.doesNotMatch(streamA.text(), /^id:/m);
    });

    it('200: approvers, and the admins where a resource has none', async () => {
      const client = await asker();
      const [boss, approver, other] = [await admin(), await member(), await member()];
      const api = await makeResource({ approvers: [approver.personId] });
      const streams = { boss: await open(boss), approver: await open(approver), other: await open(other) };
      const ofApprovers = await request(client, { login_hint: 'approvers', resource: api.identifier });
      await streams.approver.got(ofApprovers.approvalId, 'pending');
      const ofAdmins = await request(client, { login_hint: 'approvers' });
      await streams.boss.got(ofAdmins.approvalId, 'pending');
      const last = await request(client, { login_hint: other.personId });
      await streams.other.got(last.approvalId, 'pending');
      assert.deepEqual(
        Object.values(streams).map((stream) => stream.messages().length),
        [1, 1, 1],
      );
    });

    it('ends with the session, and with the person', async () => {
      const [ada, bob] = [await member(), await member()];
      const [streamA, streamB] = [await open(ada), await open(bob)];
      await ada.browser.change('DELETE', '/console/api/session');
      await streamA.ended();
      await operate('PATCH', `/organizations/${organizationId}/people/${bob.personId}`, {
        status: 'suspended',
      });
      await streamB.ended();
    });

    it('429 RATE_LIMIT_EXCEEDED above the streams of one session; another session has its own', async () => {
      const [ada, bob] = [await member(), await member()];
      const { perSession } = limits.personalStreams;
      const streams = await Promise.all(Array.from({ length: perSession }, () => open(ada)));
      const refused = await ask(ada);
      assert.equal(refused.statusCode, 429);
      assert.match(await readText(refused), /Your session has 5 event streams open/);
      (await open(bob)).close();
      streams[0]?.close();
      await until('a free place', async () => {
        const next = await ask(ada);
        next.destroy();
        return next.statusCode === 200 || undefined;
      });
    });

    it('403 FORBIDDEN without a person, 401 without a session or with a token', async () => {
      const { clientId, clientSecret } = await t.agent();
      const session = scenario.newBrowser();
      await session.change('POST', '/console/api/session', { clientId, clientSecret });
      assert.equal((await session.request(url)).json.code, 'FORBIDDEN');
      assert.equal((await scenario.newBrowser().request(url)).json.code, 'UNAUTHORIZED');
      assert.equal((await t.call('GET', url, { token: await t.token() })).json.code, 'UNAUTHORIZED');
    });
  });
