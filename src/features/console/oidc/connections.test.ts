import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { createBrowser, type TestBrowser } from '../../../../test/support/clients/browser.ts';
import { newAgent, startApp } from '../../../../test/support/harness.ts';
import { startSignInProvider } from '../../../../test/support/peers/sign-in-provider.ts';
import {
  callback,
  createPeopleScenario,
  organizationScopes,
  start,
} from '../../../../test/support/scenarios/people.ts';
import { limits } from '../../../contract/limits.ts';
import { nilUuid } from '../../../kernel/ids.ts';

const baseUrl = 'https://countersign.test';
const [provider, other, ownProvider] = await Promise.all(
  Array.from({ length: 3 }, () => startSignInProvider([baseUrl + callback])),
);
assert.ok(provider && other && ownProvider);
const t = await startApp({
  BASE_URL: baseUrl,
  WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
  DATA_ENCRYPTION_KEY: Buffer.alloc(32, 3).toString('base64'),
  ...ownProvider.variables,
});
const { asOperator, makeOrganization, logIn, signIn } = await createPeopleScenario(t, provider, baseUrl);
const newBrowser = () => createBrowser(t, baseUrl);
const sessionOf = (browser: TestBrowser) => browser.request('/console/api/session');

async function connect(changes: Record<string, unknown> = {}, organizationId?: string) {
  const home = organizationId ?? (await makeOrganization());
  const { issuer, clientId, clientSecret } = provider as NonNullable<typeof provider>;
  const { connectionId } = await asOperator('POST', `/organizations/${home}/connections`, {
    name: 'Company',
    issuer,
    clientId,
    clientSecret,
    ...changes,
  });
  return {
    organizationId: home,
    connectionId,
    address: `${start}?connectionId=${connectionId}`,
    url: `/organizations/${home}/connections/${connectionId}`,
  };
}

/** A login that the provider knows with these claims. */
function account(claims: Record<string, unknown> = {}, at = provider): string {
  const login = `login-${randomUUID()}`;
  if (at) at.accounts[login] = claims;
  return login;
}

const verified = (email: string) => ({ email, email_verified: true });

/** A browser with a session through the connection. */
async function signedIn({ address }: { address: string }, login: string): Promise<TestBrowser> {
  const browser = newBrowser();
  assert.equal((await signIn(browser, login, address)).location, '/console');
  return browser;
}

const peopleOf = async (organizationId: string) =>
  (await asOperator('GET', `/organizations/${organizationId}/people`)).data;

const makeAgent = async (organization_id: string): Promise<string> =>
  (await asOperator('POST', '/agents', newAgent({ organization_id, allowedScopes: organizationScopes })))
    .agentId;

/** The reason on the sign-in page. */
function errorOf({ status, location }: { status: number; location: string | undefined }): string | null {
  const url = new URL(location ?? '', baseUrl);
  assert.deepEqual([status, url.origin, url.pathname], [302, baseUrl, '/console/sign-in']);
  return url.searchParams.get('error');
}

const eventsOf = (organizationId: string, actions: string[]) =>
  t.sql<{ action: string; agent_id: string; metadata: Record<string, unknown> }>(
    'select action, agent_id, metadata from audit_events where organization_id = $1 and action = any($2) order by occurred_at, event_id',
    [organizationId, actions],
  );

describe('signing in through a connection', () => {
  it('302 to its provider with its scopes; a new person becomes a member with a session, and stays the same person', async () => {
    const connection = await connect();
    const { organizationId, connectionId } = connection;
    const login = account({ ...verified('Ada@Example.com'), name: ' Ada \u202e Lovelace\n' });
    const browser = newBrowser();
    const begun = await browser.request(connection.address);
    const asked = new URL(begun.location ?? '');
    assert.equal(asked.origin, provider?.issuer);
    assert.equal(asked.searchParams.get('scope'), 'openid email profile');
    assert.equal(asked.searchParams.get('redirect_uri'), baseUrl + callback);
    assert.equal((await signIn(browser, login, connection.address)).location, '/console');
    const [person, ...more] = await peopleOf(organizationId);
    assert.equal(more.length, 0);
    const { personId, createdAt, updatedAt: _, lastSignInAt, ...facts } = person;
    assert.deepEqual(facts, {
      ...{ organizationId, connectionId, issuer: provider?.issuer, subject: login },
      ...{ name: 'Ada Lovelace', email: 'Ada@Example.com', role: 'member', agentId: null, status: 'active' },
    });
    assert.equal(lastSignInAt, createdAt);
    const { status, json } = await sessionOf(browser);
    assert.equal(status, 200);
    assert.deepEqual(
      [json.agentId, json.agentName, json.role, json.scopes, json.organizationId],
      [null, null, 'member', [], organizationId],
    );
    assert.deepEqual(json.person, { personId, name: 'Ada Lovelace', email: 'Ada@Example.com' });
    const events = await eventsOf(organizationId, ['person.created', 'session.created']);
    assert.deepEqual(
      events.map(({ action, agent_id, metadata }) => [action, agent_id, metadata.connectionId]),
      [
        ['person.created', nilUuid, connectionId],
        ['session.created', nilUuid, connectionId],
      ],
    );
    assert.ok(!JSON.stringify(events).includes('xample.com'), 'no e-mail in the log');
    // The second sign-in is of the same person, with the new name and e-mail. An e-mail that is not verified changes nothing.
    Object.assign(provider?.accounts ?? {}, {
      [login]: { ...verified('ada@new.example'), name: 'Ada King' },
    });
    await signedIn(connection, login);
    Object.assign(provider?.accounts ?? {}, { [login]: { email: 'x@y.example', email_verified: 'true' } });
    await signedIn(connection, login);
    const [again, ...none] = await peopleOf(organizationId);
    assert.deepEqual(none, []);
    assert.deepEqual([again.personId, again.name, again.email], [personId, 'Ada King', 'ada@new.example']);
    // The name comes with the session, which has not ended.
    assert.equal((await sessionOf(browser)).json.person.name, 'Ada King');
  });

  it('of five first sign-ins at the same moment one creates the person, and all have a session', async () => {
    const connection = await connect();
    const login = account();
    const browsers = Array.from({ length: 5 }, newBrowser);
    const answers = await Promise.all(
      browsers.map((browser) => logIn(browser, login, { address: connection.address })),
    );
    await Promise.all(browsers.map((browser, index) => browser.request(answers[index] ?? '')));
    for (const browser of browsers) assert.equal((await sessionOf(browser)).status, 200);
    assert.equal((await peopleOf(connection.organizationId)).length, 1);
    assert.equal((await eventsOf(connection.organizationId, ['person.created'])).length, 1);
  });

  it('no event has an e-mail, although the provider gives it as the name or the subject', async () => {
    const connection = await connect({
      conditions: [{ claim: 'groups', operator: 'in', values: ['staff'] }],
    });
    const { organizationId, address } = connection;
    const groups = ['staff'];
    await signedIn(
      connection,
      account({ ...verified('grace@example.com'), name: 'grace@example.com', groups }),
    );
    const login = `${randomUUID()}@example.com`;
    const accounts = (provider ?? assert.fail()).accounts;
    accounts[login] = { name: `Ada (${login})`, groups };
    await signedIn(connection, login);
    accounts[login] = {};
    assert.equal(errorOf(await signIn(newBrowser(), login, address)), 'conditions_not_met');
    const people = await peopleOf(organizationId);
    assert.ok(people.some(({ name }: { name: string }) => name === 'grace'));
    assert.ok(people.some(({ subject }: { subject: string }) => subject === login));
    for (const { personId } of people)
      await asOperator('DELETE', `/organizations/${organizationId}/people/${personId}`);
    const events = await t.sql('select metadata from audit_events where organization_id = $1', [
      organizationId,
    ]);
    assert.ok(events.length > 6);
    assert.doesNotMatch(JSON.stringify(events), /@example\.com/);
  });

  it('names a person without a name by the e-mail or the subject', async () => {
    const connection = await connect();
    const [first, second] = [account(verified('grace@example.com')), account({ name: '\u200b' })];
    for (const login of [first, second]) await signedIn(connection, login);
    const names = (await peopleOf(connection.organizationId)).map(({ name }: { name: string }) => name);
    assert.deepEqual(names.sort(), ['grace', second].sort());
  });

  it('a member reaches only what is open or belongs to the session', async () => {
    const connection = await connect();
    const browser = await signedIn(connection, account());
    for (const path of ['/agents', '/audit', '/delegations', `/organizations/${connection.organizationId}`]) {
      const { status, json } = await browser.request(`/console/api/v1${path}`);
      assert.deepEqual([status, json.code], [403, 'FORBIDDEN'], path);
    }
    assert.equal((await browser.change('POST', '/console/api/command-line-codes')).status, 201);
    const test = await browser.change('POST', '/console/api/connection-tests', {
      connectionId: connection.connectionId,
    });
    assert.deepEqual([test.status, test.json.code], [403, 'FORBIDDEN']);
    assert.equal((await browser.request('/console/api/v1/openapi.json')).status, 404);
    assert.equal((await sessionOf(browser)).status, 200);
    // Every route of the API, as far as it needs no form or path.
    const routes = t.app.routes.filter(
      ({ path, access, accepts }) =>
        path.startsWith('/api/v1') &&
        !path.includes(':') &&
        !path.includes('*') &&
        !accepts &&
        access.kind !== 'open',
    );
    assert.ok(routes.length > 30);
    for (const { method, path } of routes) {
      const answer = await browser.change(method, `/console${path}`, method === 'GET' ? undefined : {});
      assert.ok([403, 404].includes(answer.status), `${method} ${path}: ${answer.status}`);
    }
    assert.equal((await browser.change('DELETE', '/console/api/session')).status, 204);
    assert.equal((await sessionOf(browser)).status, 401);
  });

  it('refuses who does not meet the conditions, and records it in the log of the organization', async () => {
    const connection = await connect({
      conditions: [
        { claim: 'groups', operator: 'in', values: ['staff', 'board'] },
        { claim: 'email', operator: 'glob', values: ['*@example.com'] },
      ],
    });
    const refused = account({ ...verified('eve@example.com'), groups: ['guests'] });
    assert.equal(errorOf(await signIn(newBrowser(), refused, connection.address)), 'conditions_not_met');
    const { organizationId, connectionId } = connection;
    assert.deepEqual(await peopleOf(organizationId), []);
    const [{ metadata } = assert.fail()] = await eventsOf(organizationId, ['session.refused']);
    assert.deepEqual(
      [metadata.reason, metadata.connectionId, metadata.failed, metadata.subject],
      ['conditions not met', connectionId, ['condition groups in'], refused],
    );
    await signedIn(connection, account({ ...verified('ada@example.com'), groups: ['staff'] }));
    // Anybody can enter an address that the provider does not verify.
    for (const email_verified of [false, 'true']) {
      const claims = { email: 'eve@example.com', email_verified, groups: ['staff'] };
      const { location } = await signIn(newBrowser(), account(claims), connection.address);
      assert.match(String(location), /error=conditions_not_met/);
    }
  });

  it('signs in an invited person of its issuer, who has the role and the agent of the invitation', async () => {
    const connection = await connect();
    const { organizationId } = connection;
    const agentId = await makeAgent(organizationId);
    const login = account(verified('boss@example.com'));
    const { personId } = await asOperator('POST', `/organizations/${organizationId}/people`, {
      ...{ issuer: provider?.issuer, subject: login, name: 'Boss', role: 'admin', agentId },
    });
    const browser = await signedIn(connection, login);
    const { json } = await sessionOf(browser);
    assert.deepEqual([json.person.personId, json.agentId, json.role], [personId, agentId, 'admin']);
    assert.equal((await browser.request('/console/api/v1/agents')).status, 200);
  });

  it('never takes the subject of one connection for that of another', async () => {
    const connection = await connect();
    const { organizationId } = connection;
    const agentId = await makeAgent(organizationId);
    const login = account();
    await asOperator('POST', `/organizations/${organizationId}/people`, {
      ...{ issuer: provider?.issuer, subject: login, name: 'Boss', role: 'admin', agentId },
    });
    const foreign = await connect({ issuer: other?.issuer }, organizationId);
    const session = (await sessionOf(await signedIn(foreign, login))).json;
    assert.deepEqual([session.role, session.agentId], ['member', null]);
    // Nor does an invitation elsewhere admit anybody here.
    const elsewhere = await connect();
    assert.equal((await sessionOf(await signedIn(elsewhere, login))).json.role, 'member');
    // A provider that names another issuer is not believed.
    if (other) other.tamper = { claims: { iss: provider?.issuer } };
    assert.equal(errorOf(await signIn(newBrowser(), login, foreign.address)), 'invalid_answer');
    if (other) other.tamper = { claims: { nonce: 'another' } };
    assert.equal(errorOf(await signIn(newBrowser(), login, foreign.address)), 'invalid_answer');
    if (other) other.tamper = { claims: { sub: 'nobody\0\ud800' } };
    assert.equal(errorOf(await signIn(newBrowser(), login, foreign.address)), 'invalid_answer');
    if (other) other.tamper = undefined;
    const refusals = await eventsOf(organizationId, ['session.refused']);
    assert.deepEqual(
      refusals.map(({ metadata }) => [metadata.reason, metadata.connectionId]),
      ['invalid answer of the provider', 'invalid answer of the provider', 'invalid subject'].map(
        (reason) => [reason, foreign.connectionId],
      ),
    );
  });

  it('accepts an answer once, with the state of this sign-in, from the provider that it began with', async () => {
    const connection = await connect();
    const foreign = await connect({ issuer: other?.issuer }, connection.organizationId);
    const browser = newBrowser();
    const answer = await logIn(browser, account(), { address: connection.address });
    const cookie = browser.cookies(baseUrl).find(({ name }) => name.endsWith('sign-in'));
    assert.equal((await browser.request(answer)).location, '/console');
    const replayed = await newBrowser().request(answer, {
      headers: { cookie: `${cookie?.name}=${cookie?.value}` },
    });
    assert.equal(errorOf(replayed), 'sign_in_expired');
    // The code of one provider, with the state of a sign-in that began with another.
    const [victim, attacker] = [newBrowser(), newBrowser()];
    const stolen = new URL(await logIn(attacker, account(), { address: connection.address }));
    const begun = await victim.request(foreign.address);
    const state = new URL(begun.location ?? '').searchParams.get('state') ?? '';
    assert.equal(errorOf(await victim.request(stolen)), 'invalid_answer');
    stolen.searchParams.set('state', state);
    assert.equal(errorOf(await victim.request(stolen)), 'invalid_answer');
    assert.equal((await sessionOf(victim)).status, 401);
  });

  it('is refused for an unknown or disabled connection, also when it is disabled on the way', async () => {
    const connection = await connect();
    const browser = newBrowser();
    const answer = await logIn(browser, account(), { address: connection.address });
    await asOperator('PATCH', connection.url, { status: 'disabled' });
    assert.equal(errorOf(await browser.request(answer)), 'connection_unavailable');
    for (const address of [
      connection.address,
      `${start}?connectionId=${randomUUID()}`,
      `${start}?connectionId=x`,
    ])
      assert.equal(errorOf(await newBrowser().request(address)), 'connection_unavailable');
    assert.deepEqual(await peopleOf(connection.organizationId), []);
  });

  it('uses the new secret of a changed connection', async () => {
    const connection = await connect();
    const login = account();
    await signedIn(connection, login);
    await asOperator('PATCH', connection.url, { clientSecret: 'wrong' });
    assert.equal(errorOf(await signIn(newBrowser(), login, connection.address)), 'provider_unavailable');
    await asOperator('PATCH', connection.url, { clientSecret: provider?.clientSecret });
    await signedIn(connection, login);
  });

  it('is refused when the organization has the most people it can have', async () => {
    const connection = await connect();
    const { organizationId } = connection;
    const login = account();
    await signedIn(connection, login);
    await t.sql(
      `insert into people (person_id, organization_id, issuer, subject, name, role, created_at, updated_at)
       select gen_random_uuid(), $1, 'https://x.example', n::text, 'Somebody', 'member', now(), now()
       from generate_series(2, $2::int) as n`,
      [organizationId, limits.peoplePerOrganization],
    );
    assert.equal(errorOf(await signIn(newBrowser(), account(), connection.address)), 'people_limit');
    await signedIn(connection, login);
  });

  it('a page of another site cannot begin it', async () => {
    const { address } = await connect();
    const begun = await newBrowser().request(address, { headers: { 'sec-fetch-site': 'cross-site' } });
    assert.deepEqual([begun.status, begun.location, begun.setCookies], [302, '/console/sign-in', []]);
  });

  it('continues an authorization request', async () => {
    const { address } = await connect();
    const requestId = randomUUID();
    const done = await signIn(newBrowser(), account(), `${address}&requestId=${requestId}`);
    assert.equal(done.location, `/console/authorize/${requestId}`);
  });

  it("continues one through the instance's own provider, also after the choice of an organization", async () => {
    const organizationId = await makeOrganization();
    const [agentId, login, requestId] = [
      await makeAgent(organizationId),
      account({}, ownProvider),
      randomUUID(),
    ];
    await asOperator('POST', `/organizations/${organizationId}/people`, {
      ...{ issuer: ownProvider?.issuer, subject: login, name: 'Ada', role: 'viewer', agentId },
    });
    const chosen = await signIn(newBrowser(), login, `${start}?requestId=${requestId}`);
    const query = new URL(chosen.location ?? '', baseUrl).searchParams;
    assert.deepEqual(
      [query.get('choose'), query.get('returnTo')],
      ['organization', `/console/authorize/${requestId}`],
    );
    await t.sql('update people set last_sign_in_at = created_at where subject = $1', [login]);
    const done = await signIn(newBrowser(), login, `${start}?requestId=${requestId}`);
    assert.equal(done.location, `/console/authorize/${requestId}`);
  });

  it('does not connect to a private address, unless the instance allows it', async () => {
    const guarded = await startApp({ BASE_URL: baseUrl });
    const scenario = await createPeopleScenario(guarded, provider as NonNullable<typeof provider>, baseUrl);
    const organizationId = await scenario.makeOrganization();
    const requests: unknown[] = [];
    if (other)
      other.handlerOverride = ({ url }, response) => {
        requests.push(url);
        response.end();
      };
    const { connectionId } = await scenario.asOperator(
      'POST',
      `/organizations/${organizationId}/connections`,
      { name: 'Inside', issuer: other?.issuer, clientId: 'x', clientSecret: 'x' },
    );
    const begun = await createBrowser(guarded, baseUrl).request(`${start}?connectionId=${connectionId}`);
    if (other) other.handlerOverride = undefined;
    assert.deepEqual([errorOf(begun), requests], ['provider_unavailable', []]);
  });

  it("members do not come in through the instance's own provider, although its issuer is the same", async () => {
    const connection = await connect({ issuer: ownProvider?.issuer });
    const login = account({}, ownProvider);
    await signedIn(connection, login);
    assert.equal(errorOf(await signIn(newBrowser(), login)), 'not_invited');
    await asOperator('DELETE', connection.url);
    assert.equal(errorOf(await signIn(newBrowser(), login)), 'not_invited');
  });
});

describe('an invitation by e-mail', () => {
  async function invite(email: string, changes: Record<string, unknown> = {}) {
    const connection = await connect();
    const agentId = await makeAgent(connection.organizationId);
    const person = await asOperator('POST', `/organizations/${connection.organizationId}/people`, {
      ...{ email, connectionId: connection.connectionId, name: 'Ada', role: 'admin', agentId },
      ...changes,
    });
    return { connection, agentId, person };
  }

  it('waits for a person with the verified address, and belongs to the subject from then on', async () => {
    const { connection, agentId, person } = await invite('Ada@Example.com');
    const { connectionId, organizationId } = connection;
    assert.deepEqual(
      [person.issuer, person.subject, person.email, person.connectionId, person.lastSignInAt],
      [null, null, 'Ada@Example.com', connectionId, null],
    );
    const login = account({ ...verified('ada@example.COM'), name: 'Ada Lovelace' });
    const { json } = await sessionOf(await signedIn(connection, login));
    assert.deepEqual([json.person.personId, json.agentId, json.role], [person.personId, agentId, 'admin']);
    const [fixed] = await peopleOf(organizationId);
    assert.deepEqual([fixed.issuer, fixed.subject], [provider?.issuer, login]);
    // The same address at another subject is another person.
    const second = (await sessionOf(await signedIn(connection, account(verified('ada@example.com'))))).json;
    assert.deepEqual([second.role, second.person.personId === person.personId], ['member', false]);
  });

  it('is never matched by an address that is not verified, nor through another connection', async () => {
    const { connection, person } = await invite('ada@example.com');
    const { organizationId } = connection;
    for (const email_verified of [false, undefined, 'true', 1]) {
      const login = account({ email: 'ada@example.com', email_verified });
      const { json } = await sessionOf(await signedIn(connection, login));
      assert.deepEqual([json.role, json.person.email], ['member', null], String(email_verified));
    }
    const foreign = await connect({ issuer: other?.issuer }, organizationId);
    const login = account(verified('ada@example.com'), other);
    assert.equal((await sessionOf(await signedIn(foreign, login))).json.role, 'member');
    const waiting = (await peopleOf(organizationId)).find(
      ({ personId }: { personId: string }) => personId === person.personId,
    );
    assert.equal(waiting.subject, null);
  });

  it('is deleted with its connection; people stay, and their sessions end', async () => {
    const { connection, person } = await invite('ada@example.com');
    const browser = await signedIn(connection, account());
    await asOperator('DELETE', connection.url);
    const people = await peopleOf(connection.organizationId);
    assert.deepEqual(
      people.map((one: { role: string; connectionId: unknown }) => [one.role, one.connectionId]),
      [['member', null]],
    );
    assert.equal((await sessionOf(browser)).status, 401);
    const removed = await eventsOf(connection.organizationId, ['person.removed']);
    assert.deepEqual(
      removed.map(({ metadata }) => metadata.personId),
      [person.personId],
    );
  });
});

describe('the end of a session through a connection', () => {
  it('a suspended person: at once, no new one, until activated; a suspended admin too', async () => {
    const connection = await connect();
    const login = account();
    const browser = await signedIn(connection, login);
    const { personId } = (await sessionOf(browser)).json.person;
    const url = `/organizations/${connection.organizationId}/people/${personId}`;
    assert.equal((await asOperator('PATCH', url, { status: 'suspended' })).status, 'suspended');
    assert.equal((await sessionOf(browser)).status, 401);
    assert.equal(errorOf(await signIn(newBrowser(), login, connection.address)), 'person_suspended');
    const [{ metadata } = assert.fail()] = await eventsOf(connection.organizationId, ['session.refused']);
    assert.deepEqual([metadata.reason, metadata.personId], ['person suspended', personId]);
    await asOperator('PATCH', url, { status: 'active' });
    const again = await signedIn(connection, login);
    assert.equal((await sessionOf(browser)).status, 401, 'the old session stays ended');
    await asOperator('DELETE', url);
    assert.equal((await sessionOf(again)).status, 401);
  });

  it('a new role: a member becomes a viewer, and a member again', async () => {
    const connection = await connect();
    const login = account();
    const browser = await signedIn(connection, login);
    const { personId } = (await sessionOf(browser)).json.person;
    const url = `/organizations/${connection.organizationId}/people/${personId}`;
    const agentId = await makeAgent(connection.organizationId);
    await asOperator('PATCH', url, { role: 'viewer', agentId });
    assert.equal((await sessionOf(browser)).status, 401);
    const viewer = await signedIn(connection, login);
    assert.equal((await sessionOf(viewer)).json.role, 'viewer');
    await asOperator('PATCH', url, { role: 'member' });
    assert.equal((await sessionOf(viewer)).status, 401);
    assert.equal((await sessionOf(await signedIn(connection, login))).json.role, 'member');
  });

  it('a disabled connection: its sessions only, those of the command line too, and they do not come back', async () => {
    const connection = await connect();
    const { organizationId } = connection;
    const foreign = await connect({ issuer: other?.issuer }, organizationId);
    const agentId = await makeAgent(organizationId);
    const login = account();
    await asOperator('POST', `/organizations/${organizationId}/people`, {
      ...{ issuer: provider?.issuer, subject: login, name: 'Boss', role: 'admin', agentId },
    });
    const [boss, member, elsewhere] = [
      await signedIn(connection, login),
      await signedIn(connection, account()),
      await signedIn(foreign, account({}, other)),
    ];
    const { code } = (await boss.change('POST', '/console/api/command-line-codes')).json;
    const terminal = newBrowser();
    assert.equal((await terminal.change('POST', '/console/api/session', { code })).status, 204);
    await asOperator('PATCH', connection.url, { status: 'disabled' });
    for (const browser of [boss, member, terminal]) assert.equal((await sessionOf(browser)).status, 401);
    assert.equal((await sessionOf(elsewhere)).status, 200);
    await asOperator('PATCH', connection.url, { status: 'active' });
    for (const browser of [boss, member, terminal]) assert.equal((await sessionOf(browser)).status, 401);
    const ended = await eventsOf(organizationId, ['session.ended']);
    assert.deepEqual(
      ended.map(({ metadata }) => metadata.reason),
      Array(3).fill('connection updated'),
    );
  });
});

it("a suspended person is refused through the instance's own provider too", async () => {
  const organizationId = await makeOrganization();
  const [agentId, login] = [await makeAgent(organizationId), account({}, ownProvider)];
  const { personId } = await asOperator('POST', `/organizations/${organizationId}/people`, {
    ...{ issuer: ownProvider?.issuer, subject: login, name: 'Ada', role: 'viewer', agentId },
  });
  await asOperator('PATCH', `/organizations/${organizationId}/people/${personId}`, { status: 'suspended' });
  assert.equal(errorOf(await signIn(newBrowser(), login)), 'person_suspended');
});

describe('the test of a connection', () => {
  it('shows the claims and the conditions to the administrator, in this browser, and creates nothing', async () => {
    const connection = await connect({
      conditions: [
        { claim: 'groups', operator: 'in', values: ['staff'] },
        { claim: 'hd', operator: 'exists' },
      ],
    });
    const { organizationId, connectionId } = connection;
    const agentId = await makeAgent(organizationId);
    const boss = account({ groups: ['staff'] });
    await asOperator('PATCH', connection.url, { status: 'disabled' });
    await asOperator('POST', `/organizations/${organizationId}/people`, {
      ...{ issuer: ownProvider?.issuer, subject: boss, name: 'Boss', role: 'admin', agentId },
    });
    await t.sql('update people set last_sign_in_at = created_at where organization_id = $1', [
      organizationId,
    ]);
    const browser = newBrowser();
    assert.equal((await signIn(browser, boss)).location, '/console');
    const begun = await browser.change('POST', '/console/api/connection-tests', { connectionId });
    assert.equal(begun.status, 201, begun.text);
    const page = await browser.visit(begun.json.url);
    const tester = account({ groups: ['staff', 'board'], ...verified('ada@example.com') });
    const back = await browser.visit(page.url, {
      method: 'POST',
      form: { login: tester, answer: 'yes' },
      stopAt: callback,
    });
    const done = await browser.request(back.location ?? '');
    assert.equal(done.location, '/console/connection-test');
    const { status, json } = await browser.request('/console/api/connection-tests/latest');
    assert.equal(status, 200);
    assert.deepEqual([json.connectionId, json.admitted, json.claims.sub], [connectionId, false, tester]);
    assert.deepEqual(
      json.checks.map(({ name, ok }: { name: string; ok: boolean }) => [name, ok]),
      [
        ['condition groups in', true],
        ['condition hd exists', false],
      ],
    );
    assert.equal((await peopleOf(organizationId)).length, 1);
    assert.equal((await sessionOf(browser)).json.person.name, 'Boss');
    // It is not shown without the session of the administrator, or in another session.
    const [cookie] = browser.cookies(baseUrl).filter(({ name }) => name.endsWith('sign-in'));
    const otherBrowser = newBrowser();
    const unseen = await otherBrowser.request('/console/api/connection-tests/latest', {
      headers: { cookie: `${cookie?.name}=${cookie?.value}` },
    });
    assert.equal(unseen.status, 401);
    await t.sql('update provider_sign_ins set tester_id = $1 where connection_id = $2', [
      randomUUID(),
      connectionId,
    ]);
    assert.equal((await browser.request('/console/api/connection-tests/latest')).status, 404);
    // Of another organization: as if it were not there.
    const foreign = await connect();
    for (const id of [foreign.connectionId, randomUUID()]) {
      const answer = await browser.change('POST', '/console/api/connection-tests', { connectionId: id });
      assert.deepEqual([answer.status, answer.json.code], [404, 'CONNECTION_NOT_FOUND']);
    }
  });
});
