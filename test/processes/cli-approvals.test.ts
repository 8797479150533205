/** `countersign approvals` and `approval-policy`: an agent asks, a person who signed in with a code decides. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { createBrowser, type TestBrowser } from '../support/clients/browser.ts';
import { listenForApprovals } from '../support/clients/listening.ts';
import { type Run, runCommand } from '../support/command-line.ts';
import { startInProcess } from '../support/commands-in-process.ts';
import { until } from '../support/programs.ts';

const people = await listenForApprovals();
const { t, issuer, api, asker, request, read, admin, organizationId } = people;
const folder = mkdtempSync(join(tmpdir(), 'countersign-approvals-'));
after(() => rmSync(folder, { recursive: true, force: true }));

type Account = Record<string, string>;

const accountOf = ({ clientId, clientSecret }: { clientId: string; clientSecret: string }): Account => ({
  COUNTERSIGN_URL: issuer,
  COUNTERSIGN_CLIENT_ID: clientId,
  COUNTERSIGN_CLIENT_SECRET: clientSecret,
});
const operator = accountOf(t.operator);

const run = (env: Account, args: readonly string[], input?: string): Promise<Run> =>
  runCommand(args, { env, cwd: folder, ...(input !== undefined && { input }) });

async function json(env: Account, args: readonly string[]) {
  const { code, stdout, stderr } = await run(env, [...args, '--json']);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

const assertRefused = ({ code, stdout, stderr }: Run, exitCode: number, says: RegExp) => {
  assert.match(stderr, says);
  assert.deepEqual([code, stdout], [exitCode, ''], stderr);
  assert.doesNotMatch(stderr, /\n\s+at /);
};

let files = 0;
/** A profile of `login --code`. */
async function signIn(browser: TestBrowser): Promise<Account> {
  const { status, json: made, text } = await browser.change('POST', '/console/api/command-line-codes');
  assert.equal(status, 201, text);
  const env = { COUNTERSIGN_CONFIG: join(folder, `profile-${files++}`, 'profiles.json') };
  const { code, stderr } = await run(env, ['login', '--url', issuer, '--code'], `${made.code}\n`);
  assert.equal(code, 0, stderr);
  return env;
}

const details = [{ type: 'payment', amount: 120, currency: 'EUR' }];
const agent = await asker({ allowedScopes: [] });
const asAgent = accountOf(agent.agent);
// A member has no command line.
const person = await admin();
const asPerson = await signIn(person.browser);
const newRequest = (more: Record<string, string> = {}) =>
  request(agent, {
    login_hint: person.personId,
    scope: 'orders:read orders:write',
    authorization_details: JSON.stringify(details),
    ...more,
  });

describe('approve and deny', () => {
  it('0 for the person whom it was addressed to, who can narrow it', async () => {
    const { approvalId } = await newRequest();
    const words = ['--scopes', 'orders:write', '--access-expires-in', '900', '--allow-redelegation'];
    const approved = await json(asPerson, ['approvals', 'approve', approvalId, ...words]);
    assert.deepEqual(
      [approved.status, approved.scopes, approved.accessExpiresIn, approved.decidedBy],
      ['approved', ['orders:write'], 900, person.personId],
    );
    assert.deepEqual(approved.authorizationDetails, details);
    const [row] = await t.sql('select allow_redelegation from delegations where chain_id = $1', [
      approved.chainId,
    ]);
    assert.equal(row?.allow_redelegation, true);

    const other = await newRequest();
    const denied = await run(asPerson, ['approvals', 'deny', other.approvalId]);
    assert.equal(denied.code, 0, denied.stderr);
    assert.match(denied.stdout, /^status +denied$/m);
    assert.equal((await read(other.approvalId)).status, 'denied');
  });

  it('4 for credentials of an agent, and for a session without a person: only a person decides', async () => {
    const { approvalId } = await newRequest();
    for (const env of [asAgent, operator])
      for (const verb of ['approve', 'deny'])
        assertRefused(
          await run(env, ['approvals', verb, approvalId]),
          4,
          /^countersign: only a person decides.*countersign login --profile me/,
        );
    assertRefused(await run(asAgent, ['approvals', 'list', '--mine']), 4, /only a person/);
    const browser = createBrowser(t, issuer);
    const { clientId, clientSecret } = t.operator;
    await browser.change('POST', '/console/api/session', { clientId, clientSecret });
    const words = ['approvals', 'approve', approvalId];
    assertRefused(await run(await signIn(browser), words), 4, /FORBIDDEN: Only a person can decide/);
    assert.equal((await read(approvalId)).status, 'pending');
  });

  it('1, 4 and 5 as the server says: decided before, wider, not addressed to the person', async () => {
    const { approvalId } = await newRequest({ scope: 'orders:read' });
    const wider = await run(asPerson, ['approvals', 'approve', approvalId, '--scopes', 'orders:write']);
    assertRefused(wider, 1, /VALIDATION_ERROR: .*scopes may only name requested scopes/);
    const stranger = await signIn((await admin()).browser);
    assertRefused(await run(stranger, ['approvals', 'approve', approvalId]), 5, /APPROVAL_NOT_FOUND/);
    await json(asPerson, ['approvals', 'deny', approvalId]);
    assertRefused(await run(asPerson, ['approvals', 'approve', approvalId]), 1, /APPROVAL_NOT_PENDING/);
  });

  it('2 for values that make no sense', async () => {
    assertRefused(await run(asPerson, ['approvals', 'approve', '../x']), 2, /no id of an approval/);
    const { approvalId } = await newRequest();
    const words = ['approvals', 'approve', approvalId, '--access-expires-in', '1h'];
    assertRefused(await run(asPerson, words), 2, /must be a number of seconds/);
  });
});

describe('list and show', () => {
  it("the organization's with audit:read, the agent's own, and the person's with --mine", async () => {
    const { approvalId } = await newRequest();
    const words = ['approvals', 'list', '--status', 'pending', '--agent-id', agent.agentId];
    const { data } = await json(operator, words);
    assert.ok(data.some((one: { approvalId: string }) => one.approvalId === approvalId));
    assert.equal((await json(asAgent, ['approvals', 'show', approvalId])).status, 'pending');
    assertRefused(await run(asAgent, ['approvals', 'list']), 4, /audit:read/);
    const mine = await json(asPerson, ['approvals', 'list', '--mine', '--status', 'pending', '--all']);
    const found = mine.data.find((one: { approvalId: string }) => one.approvalId === approvalId);
    assert.ok(found.agentName, 'only the list of the person has it');
    const shown = await json(asPerson, ['approvals', 'show', approvalId, '--mine']);
    assert.match(shown.url, new RegExp(`/console/approvals/${approvalId}$`));
    const table = await run(asPerson, ['approvals', 'list', '--mine', '--limit', '1']);
    assert.match(table.stdout, /^approvalId /);
  });
});

describe('cancel', () => {
  it('0 for the agent that asked, and for an admin', async () => {
    const [own, others] = [await newRequest(), await newRequest()];
    assertRefused(await run(asAgent, ['approvals', 'cancel', own.approvalId]), 2, /give --yes/);
    assert.equal((await run(asAgent, ['approvals', 'cancel', own.approvalId, '--yes'])).code, 0);
    const asAdmin = await signIn((await admin()).browser);
    assert.equal((await run(asAdmin, ['approvals', 'cancel', others.approvalId, '--yes'])).code, 0);
    for (const { approvalId } of [own, others]) assert.equal((await read(approvalId)).status, 'canceled');
  });
});

describe('request', () => {
  const words = ['approvals', 'request', '--resource', api.identifier, '--login-hint', person.personId];
  const action = ['--scope', 'orders:write', '--message', 'Pay for order 7'];

  it('0 with the id; the details are JSON, or in a file', async () => {
    writeFileSync(join(folder, 'details.json'), JSON.stringify(details));
    for (const text of [
      JSON.stringify(details),
      JSON.stringify(details[0]),
      'details.json',
      '@details.json',
    ]) {
      const made = await json(asAgent, [...words, ...action, '--details', text, '--expires-in', '60']);
      assert.equal(made.url, `${issuer}/console/approvals/${made.approvalId}`);
      const approval = await read(made.approvalId);
      assert.deepEqual(approval.authorizationDetails, details);
      assert.deepEqual([approval.bindingMessage, approval.scopes], ['Pay for order 7', ['orders:write']]);
      await people.decide(person.browser, made.approvalId, { decision: 'deny' });
    }
    const plain = await run(asAgent, [...words, ...action]);
    assert.match(plain.stdout, /^[0-9a-f-]{36}\n$/);
    await people.decide(person.browser, plain.stdout.trim(), { decision: 'deny' });
  });

  /** Decides as soon as the command waits. */
  async function whileWaiting(decision: object, more: readonly string[] = []) {
    const args = [...words, ...action, '--details', JSON.stringify(details), '--wait', ...more];
    const command = startInProcess(args, { env: asAgent, cwd: folder, shortWaits: true });
    const approvalId = await until(
      'the id of the approval',
      async () => /^([0-9a-f-]{36}) waits for a decision/m.exec(command.stderr())?.[1],
    );
    const { status, text } = await people.decide(person.browser, approvalId, decision);
    assert.equal(status, 200, text);
    return { code: await command.gone(), stdout: command.stdout(), stderr: command.stderr(), approvalId };
  }

  it('--wait prints the token of the action', async () => {
    const plain = await whileWaiting({ decision: 'approve' });
    assert.equal(plain.code, 0, plain.stderr);
    assert.deepEqual(decodeJwt(plain.stdout.trim()).authorization_details, details);
    const { stdout, approvalId } = await whileWaiting({ decision: 'approve' }, ['--json']);
    const { accessToken, ...rest } = JSON.parse(stdout);
    assert.equal(decodeJwt(accessToken).sub, person.personId);
    assert.deepEqual(
      [rest.approvalId, rest.scope, rest.authorizationDetails],
      [approvalId, 'orders:write', details],
    );
  });

  it('4 when the request is denied', async () => {
    const { code, stdout, stderr } = await whileWaiting({ decision: 'deny' });
    assert.deepEqual([code, stdout], [4, ''], stderr);
    assert.match(stderr, /was denied or canceled/);
  });

  it('refusals: no agent, nothing to ask for, wrong details, an unknown person', async () => {
    assertRefused(await run(asPerson, [...words, ...action]), 4, /an agent asks/);
    assertRefused(await run(asAgent, words), 2, /needs scopes, details, or both/);
    for (const text of ['[1]', '{"amount":1}'])
      assertRefused(await run(asAgent, [...words, '--details', text]), 2, /list of objects with a type/);
    assertRefused(await run(asAgent, [...words, '--details', '[']), 2, /not valid JSON/);
    assertRefused(await run(asAgent, [...words, '--details', 'nowhere.json']), 2, /cannot read nowhere/);
    const unknown = [...words.slice(0, -1), 'nobody@example.com', ...action];
    assertRefused(await run(asAgent, unknown), 1, /400 unknown_user_id/);
    assertRefused(
      await run({ ...asAgent, COUNTERSIGN_CLIENT_SECRET: 'wrong' }, [...words, ...action]),
      3,
      /401/,
    );
  });
});

describe('approval-policy', () => {
  it('is set and read', async () => {
    const set = ['approval-policy', 'set', organizationId, '--max-access-seconds', '7200'];
    const policy = { maxAccessSeconds: 7_200, selfApproval: true, requireTwo: ['https://two.example.com'] };
    const more = ['--self-approval', '--require-two', 'https://two.example.com'];
    assert.deepEqual(await json(operator, [...set, ...more]), policy);
    assert.deepEqual(await json(operator, ['approval-policy', 'get', organizationId]), policy);
    assertRefused(await run(operator, [...set.slice(0, -1), '5']), 2, /--max-access-seconds must be/);
  });
});
