import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { createBrowser, type TestBrowser } from '../../../../test/support/clients/browser.ts';
import { startApp } from '../../../../test/support/harness.ts';
import { startSignInProvider } from '../../../../test/support/peers/sign-in-provider.ts';
import {
  callback,
  createPeopleScenario,
  organizationScopes,
  start,
} from '../../../../test/support/scenarios/people.ts';
import { nilUuid } from '../../../kernel/ids.ts';

const baseUrl = 'https://countersign.test';
const provider = await startSignInProvider([`${baseUrl}/console/api/oidc/callback`]);
const t = await startApp({ BASE_URL: baseUrl, ...provider.variables });
const {
  asOperator,
  makeOrganization,
  invite: invited,
  logIn,
  signIn,
} = await createPeopleScenario(t, provider, baseUrl);

const newBrowser = () => createBrowser(t, baseUrl);
const sessionOf = (browser: TestBrowser) => browser.request('/console/api/session');

/** The reason on the sign-in page. */
function errorOf({ status, location }: { status: number; location: string | undefined }): string | null {
  const url = new URL(location ?? '', baseUrl);
  assert.deepEqual([status, url.origin, url.pathname], [302, baseUrl, '/console/sign-in']);
  assert.match(url.searchParams.get('requestId') ?? '', /^[\w-]{8,64}$/);
  return url.searchParams.get('error');
}

const refusals = () =>
  t.sql<{ organization_id: string; agent_id: string; outcome: string; metadata: Record<string, unknown> }>(
    "select organization_id, agent_id, outcome, metadata from audit_events where action = 'session.refused' order by occurred_at, event_id",
  );

describe('GET /console/api/sign-in-options', () => {
  it('200 with the provider and its name', async () => {
    const { status, json } = await t.call('GET', '/console/api/sign-in-options');
    assert.deepEqual([status, json], [200, { oidc: { issuer: provider.issuer, name: 'Example Login' } }]);
  });
});

describe('signing in through the provider', () => {
  it('302 to the provider with PKCE, state and nonce, then a session of the person', async () => {
    const { person, organizationId, agentId } = await invited();
    const browser = newBrowser();
    const begun = await browser.request(start);
    assert.equal(begun.status, 302);
    const asked = new URL(begun.location ?? '');
    assert.equal(asked.origin, provider.issuer);
    const query = Object.fromEntries(asked.searchParams);
    assert.equal(query.redirect_uri, baseUrl + callback);
    assert.deepEqual(
      [query.response_type, query.scope, query.code_challenge_method, query.client_id],
      ['code', 'openid', 'S256', 'console'],
    );
    for (const name of ['state', 'nonce', 'code_challenge'])
      assert.match(query[name] ?? '', /^[\w-]{43}$/, name);
    const [cookie] = begun.setCookies;
    assert.match(
      cookie ?? '',
      /^__Host-countersign-sign-in=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
    const done = await signIn(browser, person.subject);
    assert.equal(done.location, '/console');
    const { status, json } = await sessionOf(browser);
    assert.equal(status, 200);
    assert.deepEqual(json.person, { personId: person.personId, name: 'Ada Lovelace', email: null });
    assert.deepEqual([json.organizationId, json.agentId, json.role], [organizationId, agentId, 'admin']);
    assert.deepEqual([...json.scopes].sort(), [...organizationScopes].sort());
    // The cookie of the sign-in is gone.
    assert.deepEqual(
      browser.cookies(baseUrl).map(({ name }) => name),
      ['__Host-countersign'],
    );
    const [people] = (await asOperator('GET', `/organizations/${organizationId}/people`)).data;
    assert.ok(people.lastSignInAt);
  });

  it("302 to the page of the console that was asked for, and never to another site's", async () => {
    const { person } = await invited();
    const places: [string, string][] = [
      ['/console/audit?action=agent.*&page=2', '/console/audit?action=agent.*&page=2'],
      ['/console', '/console'],
      ['/console?x=1', '/console?x=1'],
      ['https://evil.example/console', '/console'],
      ['//evil.example/console', '/console'],
      ['/\\evil.example/console', '/console'],
      ['/console/../../evil', '/console'],
      ['/console/..//evil.example', '/console'],
      ['/console\\..\\..\\evil', '/console'],
      ['/consolex', '/console'],
      ['/console.evil.example', '/console'],
      ['/console@evil.example', '/console'],
      ['/console/api/oidc/start', '/console'],
      ['/console/api/session', '/console'],
      ['/console/\r\nSet-Cookie: a=b', '/console'],
      ['javascript:alert(1)', '/console'],
      [`/console/${'a'.repeat(3_000)}`, '/console'],
      ['', '/console'],
    ];
    for (const [wanted, got] of places) {
      const address = `${start}?${new URLSearchParams({ returnTo: wanted })}`;
      assert.equal((await signIn(newBrowser(), person.subject, address)).location, got, wanted);
    }
    const twice = `${start}?returnTo=/console/audit&returnTo=/console/agents`;
    assert.equal((await signIn(newBrowser(), person.subject, twice)).location, '/console');
    // At the callback it is ignored.
    const browser = newBrowser();
    const answer = await logIn(browser, person.subject);
    const done = await browser.request(`${answer}&returnTo=https://evil.example&return_to=//evil.example`);
    assert.equal(done.location, '/console');
  });

  it('302 not_invited for an unknown person, who sees the own subject; the refusal is in the log', async () => {
    const browser = newBrowser();
    const subject = `unknown-${randomUUID()}`;
    assert.equal(errorOf(await signIn(browser, subject)), 'not_invited');
    assert.equal((await sessionOf(browser)).status, 401);
    const identity = await browser.request('/console/api/oidc/identity');
    assert.deepEqual(identity.json, { issuer: provider.issuer, subject, choices: [] });
    const recorded = (await refusals()).at(-1);
    assert.deepEqual([recorded?.outcome, recorded?.organization_id], ['failure', nilUuid]);
    const { requestId: _, ...metadata } = recorded?.metadata ?? {};
    assert.deepEqual(metadata, { method: 'oidc', reason: 'not invited', issuer: provider.issuer, subject });
    // Once invited, the same page lets the person in.
    const { person } = await invited({ subject });
    const { status } = await browser.change('POST', '/console/api/oidc/identity', {
      personId: person.personId,
    });
    assert.equal(status, 204);
    assert.equal((await sessionOf(browser)).json.person.personId, person.personId);
  });

  it('302 not_invited for the same subject of another issuer, and for an e-mail as the subject', async () => {
    const { person } = await invited({ issuer: 'https://other.example.com' });
    assert.equal(errorOf(await signIn(newBrowser(), person.subject)), 'not_invited');
  });

  it("302 not_invited while the person's agent or organization is suspended, as for an unknown person", async () => {
    const { person, organizationId, agentId } = await invited();
    await asOperator('PATCH', `/agents/${agentId}`, { status: 'suspended' });
    const browser = newBrowser();
    assert.equal(errorOf(await signIn(browser, person.subject)), 'not_invited');
    assert.deepEqual((await browser.request('/console/api/oidc/identity')).json.choices, []);
    const recorded = (await refusals()).at(-1);
    assert.deepEqual([recorded?.organization_id, recorded?.agent_id], [organizationId, agentId]);
    assert.deepEqual(recorded?.metadata.person, { personId: person.personId, name: 'Ada Lovelace' });
    await asOperator('PATCH', `/agents/${agentId}`, { status: 'active' });
    await asOperator('PATCH', `/organizations/${organizationId}`, { status: 'suspended' });
    assert.equal(errorOf(await signIn(newBrowser(), person.subject)), 'not_invited');
  });

  it('302 to a choice for a person of several organizations, of which one is chosen once', async () => {
    const subject = `person-${randomUUID()}`;
    const [a, b] = [
      await invited({ subject }, await makeOrganization('Alpha')),
      await invited({ subject, role: 'viewer' }, await makeOrganization('Beta')),
    ];
    const other = await invited();
    const browser = newBrowser();
    const done = await signIn(browser, subject, `${start}?returnTo=/console/audit`);
    assert.equal(done.location, '/console/sign-in?choose=organization&returnTo=%2Fconsole%2Faudit');
    assert.equal((await sessionOf(browser)).status, 401);
    const { json } = await browser.request('/console/api/oidc/identity');
    assert.deepEqual(
      json.choices.map(({ organizationName, role, personId, firstVisit }: Record<string, unknown>) => [
        organizationName,
        role,
        personId,
        firstVisit,
      ]),
      [
        ['Alpha', 'admin', a.person.personId, false],
        ['Beta', 'viewer', b.person.personId, false],
      ],
    );
    const choose = (personId: string, from = browser) =>
      from.change('POST', '/console/api/oidc/identity', { personId });
    assert.equal((await choose(other.person.personId)).json.code, 'PERSON_NOT_FOUND');
    assert.equal((await choose(b.person.personId, newBrowser())).json.code, 'UNAUTHORIZED');
    const forged = await browser.request('/console/api/oidc/identity', {
      method: 'POST',
      payload: { personId: b.person.personId },
      headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    });
    assert.equal(forged.json.code, 'FORBIDDEN');
    assert.equal((await choose(b.person.personId)).status, 204);
    assert.equal((await sessionOf(browser)).json.organizationId, b.organizationId);
    assert.equal((await choose(a.person.personId)).json.code, 'UNAUTHORIZED');
  });

  it('302 to a choice before the first session in an organization: another may have the same name', async () => {
    const subject = `person-${randomUUID()}`;
    const browser = newBrowser();
    const imitation = await invited({ subject }, await makeOrganization('Talent'), { isNew: true });
    const done = await signIn(browser, subject);
    assert.equal(done.location, '/console/sign-in?choose=organization&returnTo=%2Fconsole');
    assert.equal((await sessionOf(browser)).status, 401);
    const own = await invited({ subject }, await makeOrganization('Talent'));
    const { choices } = (await browser.request('/console/api/oidc/identity')).json;
    assert.deepEqual(
      choices.map((choice: Record<string, unknown>) => [choice.personId, choice.firstVisit]),
      [
        [own.person.personId, false],
        [imitation.person.personId, true],
      ],
    );
    const slugs = choices.map(({ organizationSlug }: Record<string, string>) => organizationSlug);
    assert.equal(new Set(slugs).size, 2);
    for (const slug of slugs) assert.match(slug, /^team-/);
  });

  it('302 with a session again after the first one', async () => {
    const { person } = await invited({}, undefined, { isNew: true });
    const browser = newBrowser();
    await signIn(browser, person.subject);
    const { personId } = person;
    assert.equal((await browser.change('POST', '/console/api/oidc/identity', { personId })).status, 204);
    assert.equal((await sessionOf(browser)).json.person.personId, personId);
    assert.equal((await signIn(newBrowser(), person.subject)).location, '/console');
  });

  it('session.ended names the person: signed out, signed in again, and by time', async () => {
    const { person, agentId } = await invited();
    const browser = newBrowser();
    await signIn(browser, person.subject);
    // The provider still knows the person.
    await browser.visit(start);
    await browser.change('DELETE', '/console/api/session');
    await browser.visit(start);
    await t.sql(
      "update console_sessions set last_used_at = now() - interval '31 minutes' where agent_id = $1",
      [agentId],
    );
    await t.app.webConsole.loops[0]?.run(new AbortController().signal);
    const ended = await t.sql<{ reason: string; person: unknown }>(
      `select metadata->>'reason' as reason, metadata->'person' as person from audit_events
       where action = 'session.ended' and agent_id = $1 order by event_id`,
      [agentId],
    );
    const named = { personId: person.personId, name: 'Ada Lovelace' };
    assert.deepEqual(
      ended,
      ['signed in again', 'signed out', 'idle'].map((reason) => ({ reason, person: named })),
    );
  });

  it('302 not_configured without a provider, and no provider in the options', async () => {
    const bare = await startApp({ BASE_URL: baseUrl }, t);
    const browser = createBrowser(bare, baseUrl);
    assert.equal(errorOf(await browser.request(start)), 'not_configured');
    assert.equal(errorOf(await browser.request(callback)), 'not_configured');
    // The answer of a connection's provider, after the cookie of the sign-in has expired.
    assert.equal(errorOf(await browser.request(`${callback}?code=x&state=x`)), 'sign_in_expired');
    const { json } = await bare.call('GET', '/console/api/sign-in-options');
    assert.deepEqual(json, { oidc: null });
  });

  it('302 back to the sign-in page when another origin has begun the sign-in', async () => {
    for (const site of ['cross-site', 'same-site']) {
      const answer = await newBrowser().request(start, { headers: { 'sec-fetch-site': site } });
      assert.deepEqual([answer.status, answer.location, answer.setCookies], [302, '/console/sign-in', []]);
    }
  });
});

describe('DELETE /console/api/oidc/invitations/{personId}', () => {
  const decline = (browser: TestBrowser, personId: string) =>
    browser.change('DELETE', `/console/api/oidc/invitations/${personId}`);

  it('204 once: the invitation is gone, and the log of the organization has it', async () => {
    const { person, organizationId, agentId, url } = await invited({}, undefined, { isNew: true });
    const browser = newBrowser();
    await signIn(browser, person.subject);
    assert.equal((await decline(browser, person.personId)).status, 204);
    assert.deepEqual((await browser.request('/console/api/oidc/identity')).json.choices, []);
    assert.equal((await decline(browser, person.personId)).json.code, 'PERSON_NOT_FOUND');
    const choice = { personId: person.personId };
    const chosen = await browser.change('POST', '/console/api/oidc/identity', choice);
    assert.equal(chosen.json.code, 'PERSON_NOT_FOUND');
    assert.deepEqual((await asOperator('GET', `/organizations/${organizationId}/people`)).data, []);
    assert.equal((await t.call('DELETE', `/api/v1${url}`, { token: await t.token() })).status, 404);
    const events = await t.sql<{ organization_id: string; agent_id: string; metadata: object }>(
      "select organization_id, agent_id, metadata from audit_events where action = 'person.declined'",
    );
    const [event] = events.filter((one) => one.organization_id === organizationId);
    const { requestId: _, ...metadata } = { ...(event?.metadata as Record<string, unknown>) };
    const { personId, name, role, issuer, subject } = person;
    assert.deepEqual([event?.agent_id, metadata], [agentId, { personId, name, role, issuer, subject }]);
  });

  it("404 PERSON_NOT_FOUND for another person's invitation, and for one that is in use", async () => {
    const [own, used, other] = [
      await invited({}, undefined, { isNew: true }),
      await invited(),
      await invited({}, undefined, { isNew: true }),
    ];
    const browser = newBrowser();
    await signIn(browser, own.person.subject);
    for (const id of [other.person.personId, used.person.personId, randomUUID()]) {
      const { status, json } = await decline(browser, id);
      assert.deepEqual([status, json.code], [404, 'PERSON_NOT_FOUND']);
    }
    const member = await invited({ subject: own.person.subject });
    assert.equal((await decline(browser, member.person.personId)).status, 404);
    assert.equal((await asOperator('GET', `/organizations/${other.organizationId}/people`)).total, 1);
    assert.equal((await asOperator('GET', `/organizations/${member.organizationId}/people`)).total, 1);
  });

  it('401 without a confirmed identity, 403 from another origin', async () => {
    const { person } = await invited({}, undefined, { isNew: true });
    assert.equal((await decline(newBrowser(), person.personId)).status, 401);
    const browser = newBrowser();
    await signIn(browser, person.subject);
    const forged = await browser.request(`/console/api/oidc/invitations/${person.personId}`, {
      method: 'DELETE',
      headers: { 'sec-fetch-site': 'same-site', 'x-countersign-console': '1' },
    });
    assert.equal(forged.status, 403);
    assert.equal((await decline(browser, person.personId)).status, 204);
  });

  it('of a decline and a sign-in at the same moment one succeeds', async () => {
    const { person } = await invited({}, undefined, { isNew: true });
    const browser = newBrowser();
    await signIn(browser, person.subject);
    const { personId } = person;
    const [declined, chosen] = await Promise.all([
      decline(browser, personId),
      browser.change('POST', '/console/api/oidc/identity', { personId }),
    ]);
    assert.deepEqual([declined.status, chosen.status].sort(), [204, 404]);
  });
});

describe('answers of the provider that are refused', () => {
  it('302 sign_in_expired for a callback that another browser has begun, without a cookie or with another one', async () => {
    const { person } = await invited();
    const [victim, attacker] = [newBrowser(), newBrowser()];
    const answer = await logIn(attacker, person.subject);
    assert.equal(errorOf(await victim.request(answer)), 'sign_in_expired');
    await victim.request(start);
    assert.equal(errorOf(await victim.request(answer)), 'invalid_answer');
    assert.equal((await sessionOf(victim)).status, 401);
    // The sign-in of the victim goes on, also when the other answer comes between.
    const own = await logIn(victim, person.subject);
    assert.equal(errorOf(await victim.request(answer)), 'invalid_answer');
    assert.equal((await victim.request(own)).location, '/console');
  });

  it('302 invalid_answer for another state, and none or two of them', async () => {
    const { person } = await invited();
    const browser = newBrowser();
    const answer = new URL(await logIn(browser, person.subject));
    const { state } = Object.fromEntries(answer.searchParams);
    const changed = (change: (query: URLSearchParams) => void) => {
      const url = new URL(answer);
      change(url.searchParams);
      return url;
    };
    const wrong = [
      changed((query) => query.set('state', 'x')),
      changed((query) => query.delete('state')),
      changed((query) => query.set('state', `${state}x`)),
    ];
    for (const url of wrong) assert.equal(errorOf(await browser.request(url)), 'invalid_answer', url.href);
    assert.equal(
      errorOf(await browser.request(changed((query) => query.append('state', 'x')))),
      'invalid_answer',
    );
    assert.equal((await sessionOf(browser)).status, 401);
  });

  it('302 sign_in_expired for a repeated callback, also of concurrent ones', async () => {
    const { person } = await invited();
    const browser = newBrowser();
    const answer = await logIn(browser, person.subject);
    const [cookie] = browser.cookies(baseUrl);
    const headers = { cookie: `${cookie?.name}=${cookie?.value}` };
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => newBrowser().request(answer, { headers })),
    );
    const reached = answers.map(({ location }) => new URL(location ?? '', baseUrl).searchParams.get('error'));
    assert.deepEqual(reached.sort(), [null, ...Array(4).fill('sign_in_expired')].sort());
    assert.equal(errorOf(await newBrowser().request(answer, { headers })), 'sign_in_expired');
  });

  it('302 sign_in_expired ten minutes after the start', async () => {
    const { person } = await invited();
    const browser = newBrowser();
    const answer = await logIn(browser, person.subject);
    t.clock.advance(600_001);
    assert.equal(errorOf(await browser.request(answer)), 'sign_in_expired');
    assert.equal((await sessionOf(browser)).status, 401);
  });

  it('302 invalid_answer for a wrong, used or expired code', async () => {
    const { person } = await invited();
    const wrong = newBrowser();
    const forged = new URL(await logIn(wrong, person.subject));
    forged.searchParams.set('code', 'invented');
    assert.equal(errorOf(await wrong.request(forged)), 'invalid_answer');

    provider.codeSeconds = 1;
    const late = newBrowser();
    const answer = await logIn(late, person.subject);
    provider.codeSeconds = 60;
    await new Promise((resolve) => setTimeout(resolve, 2_100));
    assert.equal(errorOf(await late.request(answer)), 'invalid_answer');

    // The code of another sign-in of the same person.
    const [one, two] = [newBrowser(), newBrowser()];
    const used = new URL(await logIn(one, person.subject));
    const mixed = new URL(await logIn(two, person.subject));
    mixed.searchParams.set('code', used.searchParams.get('code') ?? '');
    assert.equal(errorOf(await two.request(mixed)), 'invalid_answer');
  });

  it('302 invalid_answer for an ID token with another nonce, issuer, audience, time or key', async () => {
    const { person } = await invited();
    const now = Math.floor(Date.now() / 1_000);
    const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    const changes: NonNullable<typeof provider.tamper>[] = [
      { claims: { nonce: 'other' } },
      { claims: { nonce: undefined } },
      { claims: { iss: 'https://other.example.com' } },
      { claims: { aud: 'another-client' } },
      { claims: { aud: ['console', 'another-client'], azp: 'another-client' } },
      { claims: { exp: now - 600, iat: now - 1_200 } },
      { claims: {}, key: otherKey },
    ];
    for (const change of changes) {
      const browser = newBrowser();
      const answer = await logIn(browser, person.subject);
      provider.tamper = change;
      const refused = await browser.request(answer);
      provider.tamper = undefined;
      assert.equal(errorOf(refused), 'invalid_answer', JSON.stringify(change.claims));
      assert.equal((await sessionOf(browser)).status, 401);
      assert.equal((await refusals()).at(-1)?.metadata.reason, 'invalid answer of the provider');
    }
    // The same way, unchanged, is accepted: the changes made the difference.
    const browser = newBrowser();
    const answer = await logIn(browser, person.subject);
    provider.tamper = { claims: {} };
    assert.equal((await browser.request(answer)).location, '/console');
    provider.tamper = undefined;
  });

  it('302 provider_refused when the person refuses at the provider', async () => {
    const browser = newBrowser();
    const answer = await logIn(browser, 'refused', { answer: 'no' });
    assert.equal(errorOf(await browser.request(answer)), 'provider_refused');
  });

  it('302 provider_unavailable while the provider is unreachable, fails, or sends malformed or too long answers', async () => {
    const { person } = await invited();
    const node = await startApp({ BASE_URL: baseUrl, ...provider.variables }, t);
    const handlers: NonNullable<typeof provider.handlerOverride>[] = [
      (_, response) => response.destroy(),
      (_, response) => void response.writeHead(503).end(),
      (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      (_, response) => void response.setHeader('content-type', 'application/json').end('{'),
      (_, response) =>
        void response.setHeader('content-type', 'application/json').end('{"issuer":"https://evil.example"}'),
      (_, response) => void response.setHeader('content-type', 'application/json').end(' '.repeat(300_000)),
    ];
    for (const [index, handler] of handlers.entries()) {
      provider.handlerOverride = handler;
      const answer = await createBrowser(node, baseUrl).request(start);
      provider.handlerOverride = undefined;
      assert.equal(errorOf(answer), 'provider_unavailable', String(index));
    }
    // Between the start and the callback.
    const browser = createBrowser(node, baseUrl);
    const answer = await logIn(browser, person.subject);
    provider.handlerOverride = (_, response) => response.destroy();
    assert.equal(errorOf(await browser.request(answer)), 'provider_unavailable');
    provider.handlerOverride = undefined;
    // It heals without a restart.
    assert.equal((await signIn(createBrowser(node, baseUrl), person.subject)).location, '/console');
  });

  it('302 for hostile queries and cookies, never a 5xx', async () => {
    const queries = ['', '?state', '?code=a&code=b', '?state[]=1', `?state=${'a'.repeat(5_000)}`];
    const cookies = [
      '',
      '__Host-countersign-sign-in=',
      `__Host-countersign-sign-in=${'a'.repeat(43)}`,
      '%%%;;=;',
    ];
    for (const malformed of ['?state=%00', '?__proto__=1'])
      assert.equal((await newBrowser().request(callback + malformed)).json.code, 'VALIDATION_ERROR');
    for (const query of queries)
      for (const cookie of cookies) {
        const { status, location } = await newBrowser().request(callback + query, { headers: { cookie } });
        assert.equal(status, 302, `${query} ${cookie}`);
        assert.ok(location?.startsWith('/console/sign-in?error='));
      }
  });
});
