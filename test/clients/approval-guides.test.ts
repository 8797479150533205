/** The programs of docs/guides/approvals and the commands of their guide, as they are given out; people decide over HTTP. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { type Client, createClient } from '../../sdk/typescript/src/sdk.ts';
import { guidePrograms, guides, resourceOf } from '../support/clients/guide-programs.ts';
import { listenForApprovals } from '../support/clients/listening.ts';
import { skipWithout } from '../support/harness.ts';
import { findProgram, freePort, type Program, startProgram, until } from '../support/programs.ts';
import { ownApprovals } from '../support/scenarios/approvals.ts';

const scenario = await listenForApprovals();
const { t, issuer, organizationId, operate, member, provider, asker, decide } = scenario;

type Person = Awaited<ReturnType<typeof member>>;

/** The credential of the APIs: they learn by signals which tokens have ended. */
const api = await t.agent({ allowedScopes: ['tokens:read'] });
const { run, start } = guidePrograms('approvals', {
  ISSUER: issuer,
  ORGANIZATION_ID: organizationId,
  CLIENT_ID: api.clientId,
  CLIENT_SECRET: api.clientSecret,
});

const register = (guide: string, identifier: string, more: object = {}) =>
  operate('POST', '/resources', { ...resourceOf(guide, identifier), ...more });

/** The request that the agent has just made is shown to the person, who decides. */
async function decideNext(person: Person, program: Program, decision: object) {
  const shown = await until(
    'a request',
    async () => {
      const { json } = await person.browser.request(`${ownApprovals}?status=pending&limit=1`);
      return json.data[0];
    },
    program,
  );
  const answer = await decide(person.browser, shown.approvalId, decision);
  assert.equal(answer.status, 200, answer.text);
  return { shown, decided: answer.json };
}

const credentialsOf = ({ agent }: Awaited<ReturnType<typeof asker>>) => ({
  CLIENT_ID: agent.clientId,
  CLIENT_SECRET: agent.clientSecret,
});
const clientOf = ({ agent }: Awaited<ReturnType<typeof asker>>): Client =>
  createClient({ issuer, clientId: agent.clientId, auth: agent.clientSecret });

/** A token for these details, that the person has approved. */
async function approvedToken(
  client: Client,
  person: Person,
  options: Parameters<Client['requestApproval']>[0],
) {
  const approval = await client.requestApproval(options);
  assert.equal((await decide(person.browser, approval.approvalId)).status, 200);
  return approval.wait();
}

const post = async (url: string, token: string, body: object) => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const json = (await response.json()) as { error?: string };
  return { status: response.status, json, headers: response.headers };
};

const eventsOf = async (approvalId: string): Promise<string[]> => {
  const { data } = await operate('GET', '/audit?action=approval.*&limit=100');
  return data
    .filter(({ metadata }: { metadata: { approvalId: string } }) => metadata.approvalId === approvalId)
    .map(({ action }: { action: string }) => action)
    .reverse();
};

describe('Ask before acting', () => {
  it('the agent pays what the approvers said; another amount, creditor or a second time is refused', async () => {
    const approver = await member();
    const audience = await start('payments-api.mjs');
    await register('ask-before-acting.md', audience, { approvers: [approver.personId] });
    const agent = await asker();
    const program = run('payments-agent.mjs', { ...credentialsOf(agent), AUDIENCE: audience });
    const { shown } = await decideNext(approver, program, { decision: 'approve' });
    const invoice = { amount: 120, currency: 'EUR', creditor: 'Paper & Co' };
    assert.deepEqual(shown.authorizationDetails, [{ type: 'payment', ...invoice }]);
    assert.equal(await program.ended(), 0, program.output());
    assert.match(program.output(), /^201 /m);
    assert.ok(program.output().includes(`"approvedBy":"${approver.personId}"`), program.output());
    assert.deepEqual(await eventsOf(shown.approvalId), ['approval.requested', 'approval.approved']);

    const options = {
      resource: audience,
      scopes: 'payments:create',
      details: [{ type: 'payment', ...invoice }],
      loginHint: 'approvers',
    };
    const token = await approvedToken(clientOf(agent), approver, options);
    for (const other of [
      { amount: 121 },
      { amount: 1 },
      { currency: 'USD' },
      { creditor: 'Another person' },
    ]) {
      const { status, json } = await post(`${audience}/payments`, token, { ...invoice, ...other });
      assert.deepEqual(
        [status, json.error],
        [403, 'insufficient_authorization_details'],
        JSON.stringify(other),
      );
    }
    assert.equal((await post(`${audience}/payments`, token, invoice)).status, 201);
    assert.equal((await post(`${audience}/payments`, token, invoice)).status, 409);

    // With a standing grant, but without a person.
    const { data } = await operate('GET', `/resources?limit=100`);
    const { resourceId } = data.find(({ identifier }: { identifier: string }) => identifier === audience);
    await operate('PUT', `/agents/${agent.agentId}/grants/${resourceId}`, { scopes: ['payments:create'] });
    const own = await clientOf(agent).token({ resource: audience });
    assert.equal((await post(`${audience}/payments`, own, invoice)).status, 403);
  });

  it('denied: the agent goes on without it', async () => {
    const approver = await member();
    const audience = await start('payments-api.mjs');
    await register('ask-before-acting.md', audience, { approvers: [approver.personId] });
    const program = run('payments-agent.mjs', { ...credentialsOf(await asker()), AUDIENCE: audience });
    await decideNext(approver, program, { decision: 'deny' });
    assert.equal(await program.ended(), 0, program.output());
    assert.match(program.output(), /^not paid: /m);
  });
});

describe('Step up', () => {
  it('the agent reads by itself, is refused, and refunds what the person approved: this order, this amount', async () => {
    const audience = await start('orders-api.mjs');
    const { resourceId } = await register('step-up.md', audience);
    const [person, agent] = [await member(), await asker()];
    await operate('PUT', `/agents/${agent.agentId}/grants/${resourceId}`, { scopes: ['orders:read'] });
    const program = run('orders-agent.mjs', {
      ...credentialsOf(agent),
      AUDIENCE: audience,
      PERSON: person.personId,
    });
    const { shown } = await decideNext(person, program, { decision: 'approve' });
    assert.deepEqual(shown.authorizationDetails, [{ type: 'refund', order: '1001', amount: 80 }]);
    assert.deepEqual(shown.scopes, ['orders:refund']);
    assert.equal(await program.ended(), 0, program.output());
    assert.match(program.output(), /^refused: needs orders:refund$/m);
    assert.match(program.output(), /^200 \{"order":"1001","total":80,"refunded":80,/m);

    const client = clientOf(agent);
    const own = await client.token({ resource: audience });
    const refusal = await post(`${audience}/orders/1002/refund`, own, { amount: 25 });
    assert.deepEqual([refusal.status, refusal.json.error], [403, 'insufficient_scope']);
    assert.match(refusal.headers.get('www-authenticate') ?? '', /scope="orders:refund"/);
    const token = await approvedToken(client, person, {
      resource: audience,
      scopes: 'orders:refund',
      details: [{ type: 'refund', order: '1002', amount: 25 }],
      loginHint: person.personId,
    });
    for (const [order, amount] of [
      ['1002', 26],
      ['1001', 25],
    ] as const) {
      const { status, json } = await post(`${audience}/orders/${order}/refund`, token, { amount });
      assert.deepEqual([status, json.error], [403, 'insufficient_authorization_details'], order);
    }
    assert.equal((await post(`${audience}/orders/1002/refund`, token, { amount: 25 })).status, 200);
    assert.equal((await post(`${audience}/orders/1002/refund`, token, { amount: 25 })).status, 409);
  });
});

describe('Let a person approve an action', () => {
  it('the commands of the guide, from the request to the audit event, and its program', async (test) => {
    for (const name of ['bash', 'curl']) if (!findProgram(name)) return skipWithout(test, name);
    const guide = readFileSync(join(guides, 'approve-an-action.md'), 'utf8');
    const login = `person-${randomUUID()}`;
    const email = `${login}@example.com`;
    provider.accounts[login] = { email, email_verified: true };
    const person = await member(login);
    const home = mkdtempSync(join(tmpdir(), 'countersign-guide-'));
    after(() => rmSync(home, { recursive: true, force: true }));
    mkdirSync(join(home, '.countersign'));
    writeFileSync(join(home, '.countersign/admin.json'), JSON.stringify({ baseUrl: issuer, ...t.operator }));
    const shell = startProgram('bash', [], {
      env: { PATH: process.env.PATH, HOME: home },
      cwd: home,
      input: null,
    });
    let blocks = 0;
    /** Runs the commands in the shell of the reader, and returns what they print. */
    const type = async (commands: string): Promise<string> => {
      blocks += 1;
      const end = `end of block ${blocks}`;
      const before = shell.output().length;
      shell.child.stdin?.write(`${commands}\necho "${end}"\n`);
      await until(end, async () => shell.output().includes(end) || undefined, shell);
      return shell.output().slice(before);
    };
    await type(`. ${join(guides, 'setup.sh')}`);
    const commands = [...guide.matchAll(/<!-- step (\w+) -->\n```sh\n([\s\S]*?)```/g)];
    const steps = new Map(commands.map(([, name = '', text = '']) => [name, text]));
    assert.deepEqual([...steps.keys()], ['resource', 'agent', 'ask', 'poll', 'audit']);
    const audience = `http://127.0.0.1:${await freePort()}`;
    const step = (name: string) =>
      type(
        String(steps.get(name))
          .replace('AUDIENCE=http://127.0.0.1:4200', `AUDIENCE=${audience}`)
          .replace('PERSON=you@example.com', `PERSON=${email}`),
      );
    await step('resource');
    await step('agent');
    const asked = await step('ask');
    const [, approvalId = ''] = /\/console\/approvals\/([0-9a-f-]{36})/.exec(asked) ?? [];
    assert.match(await step('poll'), /authorization_pending/);
    const answer = await decide(person.browser, approvalId);
    assert.equal(answer.status, 200, `${asked} ${answer.text}`);
    assert.match(
      await step('poll'),
      /"access_token":"[^"]+".*"authorization_details":\[\{[^}]*"amount":120/s,
    );
    const events = await step('audit');
    for (const action of ['approval.requested', 'approval.approved'])
      assert.ok(events.includes(action), events);
    assert.ok(events.includes(approvalId), events);
    shell.child.stdin?.end();

    const agent = await asker();
    const variables = { ...credentialsOf(agent), AUDIENCE: audience, PERSON: email };
    for (const decision of ['approve', 'deny']) {
      const program = run('payment.mjs', variables);
      await decideNext(person, program, { decision });
      assert.equal(await program.ended(), 0, program.output());
      assert.match(
        program.output(),
        decision === 'approve' ? /^approved: payments:create \[\{.*"amount":120/m : /^denied$/m,
      );
    }
  });
});
