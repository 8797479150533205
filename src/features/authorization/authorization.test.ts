/** The way of a person, a browser and a client from `/authorize` to tokens. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { createBrowser, type TestBrowser } from '../../../test/support/clients/browser.ts';
import { startApp } from '../../../test/support/harness.ts';
import {
  baseUrl,
  createAuthorizationScenario,
  redirectUri,
} from '../../../test/support/scenarios/authorization.ts';
import { callback, createPeopleScenario } from '../../../test/support/scenarios/people.ts';

const scenario = await createAuthorizationScenario();
const { t, organizationId, resource, operate, confidential, publicClient, newRequest, newBrowser } = scenario;
const { member, logIn, ask, decide, answerIn, consent, exchange, pathOf, requestIdIn, granted, isActive } =
  scenario;

describe('the whole way', () => {
  it('a browser without a session: sign-in, consent, code, tokens, introspection, revocation', async () => {
    const client = await confidential();
    await operate('PATCH', `/agents/${client.agentId}`, { displayName: 'The chief accountant' });
    const request = newRequest(client, { scope: 'orders:read orders:write' });
    const browser = newBrowser();
    const begun = await browser.request(request.url, { headers: { 'sec-fetch-site': 'none' } });
    assert.equal(begun.status, 302);
    assert.match(
      begun.location ?? '',
      /^\/console\/api\/oidc\/start\?connectionId=[0-9a-f-]+&requestId=[0-9a-f-]+$/,
    );
    assert.match(
      begun.setCookies[0] ?? '',
      /^__Host-countersign-authorize=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
    const done = await logIn(browser, begun.location ?? '', `person-${randomUUID()}`);
    const requestId = requestIdIn(done.location);
    const question = await browser.request(pathOf(requestId));
    assert.equal(question.status, 200, question.text);
    const { person, expiresAt, ...shown } = question.json;
    assert.deepEqual(Object.keys(person).sort(), ['email', 'name', 'personId']);
    assert.ok(Date.parse(expiresAt) > t.clock.now());
    const agent = await operate('GET', `/agents/${client.agentId}`);
    assert.deepEqual(shown, {
      requestId,
      client: {
        agentId: client.agentId,
        clientId: client.clientId,
        name: agent.email,
        host: null,
        redirectHost: 'app.example',
        registered: true,
      },
      resource: { identifier: resource.identifier, name: 'Orders' },
      scopes: [
        { name: 'orders:read', description: 'Read orders' },
        { name: 'orders:write', description: null },
      ],
      authorizationDetails: null,
    });
    const decision = { decision: 'approve', scopes: ['orders:read'], expiresIn: 3_600 };
    const decided = await decide(browser, requestId, decision);
    assert.equal(decided.status, 200, decided.text);
    const { code, state, iss } = answerIn(decided.json.redirectTo);
    assert.deepEqual([state, iss], ['a state', baseUrl]);
    const { status, json, headers } = await exchange(request, String(code));
    assert.equal(status, 200, JSON.stringify(json));
    assert.equal(headers['cache-control'], 'no-store');
    assert.deepEqual(Object.keys(json).sort(), [
      'access_token',
      'expires_in',
      'refresh_token',
      'scope',
      'token_type',
    ]);
    assert.equal(json.scope, 'orders:read');
    const claims = decodeJwt(json.access_token);
    const { personId } = person;
    assert.deepEqual(
      [claims.sub, claims.sub_profile, claims.client_id, claims.aud, claims.scope, claims.act],
      [
        personId,
        'person',
        client.agentId,
        resource.identifier,
        'orders:read',
        { sub: client.agentId, sub_profile: 'ai_agent' },
      ],
    );
    assert.equal(await isActive(json.access_token), true);
    const own = await browser.request('/console/api/me/delegations');
    const [chain] = own.json.data;
    assert.deepEqual(
      [own.json.total, chain.chainId, chain.origin, chain.subjectType, chain.scopes],
      [1, claims.chain_id, 'consent', 'person', ['orders:read']],
    );
    assert.equal(
      (await browser.change('DELETE', `/console/api/me/delegations/${chain.chainId}`)).status,
      204,
    );
    assert.equal(await isActive(json.access_token), false);
    assert.equal((await scenario.refresh(client, json.refresh_token)).json.error, 'invalid_grant');
  });

  it('302 with access_denied and an event when the person refuses', async () => {
    const client = await confidential();
    const { browser, personId } = await member();
    const answer = await decide(browser, await ask(browser, newRequest(client)), { decision: 'deny' });
    const { error, state, iss, code } = answerIn(answer.json.redirectTo);
    assert.deepEqual([error, state, iss, code], ['access_denied', 'a state', baseUrl, undefined]);
    const events = await t.sql<{ metadata: Record<string, unknown>; organization_id: string }>(
      "select metadata, organization_id from audit_events where action = 'consent.denied' and agent_id = $1",
      [client.agentId],
    );
    assert.deepEqual(
      [events.length, events[0]?.metadata.personId, events[0]?.organization_id],
      [1, personId, organizationId],
    );
  });

  it('a public client on loopback: any port, and it is asked each time', async () => {
    const client = await publicClient('http://127.0.0.1/callback');
    const { browser } = await member();
    const uri = 'http://127.0.0.1:49152/callback';
    const request = newRequest({ ...client, redirectUri: uri });
    const code = await consent(browser, request);
    const { status, json } = await exchange(request, code);
    assert.equal(status, 200, JSON.stringify(json));
    const again = await browser.request(request.url, { headers: { 'sec-fetch-site': 'none' } });
    requestIdIn(again.location);
    const refreshed = await scenario.refresh(client, json.refresh_token);
    assert.equal(refreshed.status, 200, refreshed.text);
  });

  it('an earlier consent is used again only for navigations of the person, or after a sign-in for the request', async () => {
    const client = await confidential();
    const { browser, login } = await member();
    const request = newRequest(client, { scope: 'orders:read' });
    const first = decodeJwt((await exchange(request, await consent(browser, request))).json.access_token);
    for (const site of ['none', 'same-origin']) {
      const { location } = await browser.request(request.url, { headers: { 'sec-fetch-site': site } });
      const { json, status } = await exchange(request, String(answerIn(location).code));
      assert.equal(status, 200);
      assert.equal(decodeJwt(json.access_token).chain_id, first.chain_id);
    }
    for (const headers of [{}, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }])
      requestIdIn((await browser.request(request.url, { headers })).location);
    const more = newRequest(client, { scope: 'orders:read orders:write' });
    requestIdIn((await browser.request(more.url, { headers: { 'sec-fetch-site': 'none' } })).location);
    const asked = newRequest(client, { scope: 'orders:read', prompt: 'consent' });
    requestIdIn((await browser.request(asked.url, { headers: { 'sec-fetch-site': 'none' } })).location);
    const other = newBrowser();
    const done = await logIn(other, request.url, login);
    assert.ok(answerIn(done.location).code);
  });

  it('a consent that adds scopes begins a new chain, and the older one stays', async () => {
    const client = await confidential();
    const { browser, tokens } = await granted(client, { scope: 'orders:read' });
    const more = newRequest(client, { scope: 'orders:read orders:write' });
    const second = await exchange(more, await consent(browser, more));
    assert.notEqual(
      decodeJwt(second.json.access_token).chain_id,
      decodeJwt(String(tokens.access_token)).chain_id,
    );
    assert.equal(await isActive(tokens.access_token), true);
  });

  it('a cross-site start goes to the page without a session, whose own requests continue', async () => {
    const client = await confidential();
    const { browser } = await member();
    const { url } = newRequest(client);
    const answer = await browser.request(url, { headers: { 'sec-fetch-site': 'cross-site' } });
    const requestId = requestIdIn(answer.location);
    assert.equal((await browser.request(pathOf(requestId))).status, 200);
    const fresh = newBrowser();
    const started = await fresh.request(url, { headers: { 'sec-fetch-site': 'cross-site' } });
    const path = pathOf(requestIdIn(started.location));
    assert.equal((await fresh.request(path)).json.code, 'UNAUTHORIZED');
    const ways = await fresh.request(`${path}/sign-in`);
    assert.deepEqual(ways.json, {
      requestId: requestIdIn(started.location),
      organizationNeeded: false,
      connections: [{ connectionId: scenario.connection.connectionId, name: 'Company' }],
      instance: false,
      client: { name: (await operate('GET', `/agents/${client.agentId}`)).email, host: null },
      resource: { name: 'Orders' },
    });
  });

  it('the resource in another spelling is the registered one, in the token too', async () => {
    const origin = `https://${randomUUID()}.example`;
    await scenario.makeResource({ identifier: origin });
    const client = await confidential();
    const { browser } = await member();
    for (const spelling of [origin, `${origin}/`, origin.toUpperCase().replace('HTTPS', 'https')]) {
      const request = newRequest(client, { resource: spelling, prompt: 'consent' });
      const code = await consent(browser, request);
      const { status, json } = await exchange(request, code, { resource: spelling });
      assert.equal(status, 200, JSON.stringify(json));
      assert.equal(decodeJwt(json.access_token).aud, origin);
    }
    const other = newRequest(client, { resource: `${origin}/other` });
    assert.equal(answerIn((await browser.request(other.url)).location).error, 'invalid_target');
  });

  it('login_hint reaches the provider, in the browser that began the request', async () => {
    const client = await confidential();
    const browser = newBrowser();
    const begun = await browser.request(newRequest(client, { login_hint: 'ada@example.com' }).url);
    const hintIn = async (asking: typeof browser) => {
      const { location } = await asking.request(begun.location ?? '');
      return new URL(location ?? '').searchParams.get('login_hint');
    };
    assert.deepEqual([await hintIn(browser), await hintIn(newBrowser())], ['ada@example.com', null]);
  });

  it('POST with a form does the same', async () => {
    const client = await confidential();
    const { parameters } = newRequest(client);
    const answer = await t.form('/api/v1/authorize', parameters);
    assert.equal(answer.status, 302, answer.text);
    assert.match(String(answer.headers.location), /^\/console\/api\/oidc\/start/);
    const { scope: _, ...rest } = parameters;
    const repeated = await t.call('POST', '/api/v1/authorize', {
      payload: `${new URLSearchParams(rest)}&scope=a&scope=b`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    assert.equal(answerIn(String(repeated.headers.location)).error, 'invalid_request');
  });
});

describe('prompt', () => {
  it('none: login_required without a session, consent_required without a consent, otherwise a code', async () => {
    const client = await confidential();
    const silent = newRequest(client, { prompt: 'none', scope: 'orders:read' });
    const headers = { 'sec-fetch-site': 'none' };
    assert.equal(answerIn((await newBrowser().request(silent.url)).location).error, 'login_required');
    const { browser } = await member();
    assert.equal(
      answerIn((await browser.request(silent.url, { headers })).location).error,
      'consent_required',
    );
    const request = newRequest(client, { scope: 'orders:read' });
    await consent(browser, request);
    assert.ok(answerIn((await browser.request(silent.url, { headers })).location).code);
    const foreign = await browser.request(silent.url, { headers: { 'sec-fetch-site': 'same-site' } });
    assert.equal(answerIn(foreign.location).error, 'consent_required');
  });

  it('login: a new sign-in even with a session, and no decision before it', async () => {
    const client = await confidential();
    const { browser, login } = await member();
    const { url } = newRequest(client, { prompt: 'login' });
    const started = await browser.request(url, { headers: { 'sec-fetch-site': 'cross-site' } });
    const path = pathOf(requestIdIn(started.location));
    assert.equal((await browser.request(path)).json.code, 'UNAUTHORIZED');
    assert.equal((await browser.change('POST', path, { decision: 'approve' })).json.code, 'UNAUTHORIZED');
    const direct = await browser.request(url);
    assert.match(direct.location ?? '', /oidc\/start/);
    // The provider has a session of the person, and asks again.
    const asked = await askedOf(browser, direct.location);
    assert.deepEqual([asked.prompt, asked.max_age], ['login', '0']);
    const done = await logIn(browser, direct.location ?? '', login);
    assert.equal((await browser.request(pathOf(requestIdIn(done.location)))).status, 200);
  });

  it('login: a provider that did not ask again is refused, however the sign-in began', async () => {
    const client = await confidential();
    const { url } = newRequest(client, { prompt: 'login' });
    const seconds = () => Math.floor(Date.now() / 1_000);
    for (const auth_time of [seconds() - 120, undefined]) {
      const { browser, login } = await member();
      const begun = await browser.request(url);
      scenario.provider.tamper = { claims: { auth_time } };
      const done = await logIn(browser, begun.location ?? '', login);
      scenario.provider.tamper = undefined;
      assert.match(done.location ?? '', /^\/console\/sign-in\?error=invalid_answer/);
      const [requestId] = /[0-9a-f-]{36}$/.exec(begun.location ?? '') ?? [];
      assert.equal((await browser.request(pathOf(String(requestId)))).json.code, 'UNAUTHORIZED');
    }
    // Of a sign-in that took minutes only the part since its beginning counts.
    const { browser, login } = await member();
    const begun = await browser.request(url);
    const page = await browser.visit(begun.location ?? '');
    t.clock.advance(120_000);
    scenario.provider.tamper = { claims: { auth_time: seconds() - 120 } };
    const done = await logIn(browser, page.url.href, login);
    scenario.provider.tamper = undefined;
    requestIdIn(done.location);
  });

  it('passes login_hint on to the provider, and never asks again without need', async () => {
    const client = await confidential();
    const begun = await newBrowser().request(newRequest(client, { login_hint: 'ada@example.com' }).url);
    const asked = await askedOf(newBrowser(), begun.location);
    assert.deepEqual([asked.login_hint, asked.prompt], [undefined, undefined]);
    const browser = newBrowser();
    const own = await browser.request(newRequest(client, { login_hint: 'ada@example.com' }).url);
    const hinted = await askedOf(browser, own.location);
    assert.deepEqual(
      [hinted.login_hint, hinted.prompt, hinted.max_age],
      ['ada@example.com', undefined, undefined],
    );
    const other = await askedOf(browser, `${own.location}&prompt=select_account`);
    assert.deepEqual([other.login_hint, other.prompt, other.max_age], [undefined, 'login', undefined]);
    const again = newRequest(client, { login_hint: 'ada@example.com', prompt: 'login' });
    const both = await askedOf(browser, (await browser.request(again.url)).location);
    assert.deepEqual([both.login_hint, both.prompt, both.max_age], ['ada@example.com', 'login', '0']);
  });

  it('another person signs in at a provider that still has the session of the first', async () => {
    const client = await confidential();
    const { browser } = await member();
    const requestId = await ask(browser, newRequest(client));
    assert.equal((await browser.change('DELETE', '/console/api/session')).status, 204);
    const { startOf } = scenario;
    const silent = await browser.request(`${startOf()}&requestId=${requestId}`);
    const returned = await browser.visit(silent.location ?? '', { stopAt: callback });
    assert.ok(returned.location?.includes(callback), 'the provider returns with the same account');
    const login = `person-${randomUUID()}`;
    const page = await browser.visit(`${startOf()}&requestId=${requestId}&prompt=select_account`);
    // oidc-provider ends its first session with a form that a script sends.
    const ending = await browser.submit(page, { login, answer: 'yes' });
    const done = await browser.submit(ending, {}, { stopAt: callback });
    assert.equal(requestIdIn((await browser.request(done.location ?? '')).location), requestId);
    assert.equal((await browser.request(pathOf(requestId))).json.person.name, login);
  });
});

/** What the provider is asked by a sign-in that begins at this address. */
async function askedOf(
  browser: TestBrowser,
  address: string | undefined,
): Promise<Record<string, string | undefined>> {
  const { location } = await browser.request(address ?? '');
  assert.ok(location?.startsWith(scenario.provider.issuer), String(location));
  return Object.fromEntries(new URL(String(location)).searchParams);
}

describe('a decision', () => {
  it('400 for a scope that was not requested, and for one that the person may not lend', async () => {
    const client = await confidential();
    const { browser } = await member();
    const requestId = await ask(browser, newRequest(client, { scope: 'orders:read refund' }));
    const question = await browser.request(pathOf(requestId));
    assert.deepEqual(
      question.json.scopes.map(({ name }: { name: string }) => name),
      ['orders:read'],
    );
    for (const scopes of [['orders:write'], ['refund'], ['orders:read', 'refund'], []])
      assert.equal(
        (await decide(browser, requestId, { decision: 'approve', scopes })).json.code,
        'VALIDATION_ERROR',
      );
    for (const more of [{ expiresIn: 59 }, { expiresIn: 7_776_001 }, { other: 1 }, { decision: 'maybe' }])
      assert.equal((await decide(browser, requestId, { decision: 'approve', ...more })).status, 400);
    // None of them was a decision.
    assert.equal((await decide(browser, requestId)).status, 200);
  });

  it('409 AUTHORIZATION_REQUEST_DECIDED for a second one; one of many at once', async () => {
    const client = await confidential();
    const { browser } = await member();
    const requestId = await ask(browser, newRequest(client));
    const answers = await Promise.all(Array.from({ length: 5 }, () => decide(browser, requestId)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409]);
    const again = await decide(browser, requestId, { decision: 'deny' });
    assert.deepEqual([again.status, again.json.code], [409, 'AUTHORIZATION_REQUEST_DECIDED']);
    const chains = await t.sql('select from delegations where delegatee_id = $1', [client.agentId]);
    assert.equal(chains.length, 1);
  });

  it('404 AUTHORIZATION_REQUEST_NOT_FOUND in another browser, after ten minutes, and for unknown ids', async () => {
    const client = await confidential();
    const [one, other] = [await member(), await member()];
    const requestId = await ask(one.browser, newRequest(client));
    await ask(other.browser, newRequest(client));
    for (const id of [requestId, randomUUID()])
      for (const answer of [await other.browser.request(pathOf(id)), await decide(other.browser, id)])
        assert.deepEqual([answer.status, answer.json.code], [404, 'AUTHORIZATION_REQUEST_NOT_FOUND']);
    t.clock.advance(600_001);
    assert.equal((await decide(one.browser, requestId)).json.code, 'AUTHORIZATION_REQUEST_NOT_FOUND');
  });

  it('403 from another site, 401 after signing out, refused after a suspension; nothing is granted', async () => {
    const client = await confidential();
    const { browser, personId } = await member();
    const requestId = await ask(browser, newRequest(client));
    const forged = await browser.request(pathOf(requestId), {
      method: 'POST',
      payload: { decision: 'approve' },
      headers: {
        'sec-fetch-site': 'cross-site',
        'x-countersign-console': '1',
        origin: 'https://evil.example',
      },
    });
    assert.deepEqual([forged.status, forged.json.code], [403, 'FORBIDDEN']);
    await browser.change('DELETE', '/console/api/session');
    assert.equal((await decide(browser, requestId)).json.code, 'UNAUTHORIZED');
    const second = await member();
    const secondId = await ask(second.browser, newRequest(client));
    await operate('PATCH', `/organizations/${organizationId}/people/${second.personId}`, {
      status: 'suspended',
    });
    assert.ok([401, 403].includes((await decide(second.browser, secondId)).status));
    assert.deepEqual(
      await t.sql('select from delegations where subject_id = any($1)', [[personId, second.personId]]),
      [],
    );
  });

  it("403 for an agent's session, and for a person of another organization, whose organization it names", async () => {
    const client = await confidential();
    const { agentId, clientSecret } = await t.agent();
    const browser = newBrowser();
    await browser.change('POST', '/console/api/session', { clientId: agentId, clientSecret });
    const begun = await browser.request(newRequest(client).url);
    const [, requestId] = /requestId=([0-9a-f-]+)/.exec(begun.location ?? '') ?? [];
    assert.equal((await browser.request(pathOf(String(requestId)))).json.code, 'FORBIDDEN');

    const elsewhere = await operate('POST', '/organizations', {
      name: 'Elsewhere',
      slug: `else-${randomUUID()}`,
    });
    const { connectionId } = await scenario.connect(elsewhere.organizationId);
    const foreign = newBrowser();
    await logIn(foreign, `/console/api/oidc/start?connectionId=${connectionId}`, 'somebody else');
    const started = await foreign.request(newRequest(client).url, {
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    const answer = await foreign.request(pathOf(requestIdIn(started.location)));
    assert.equal(answer.json.code, 'FORBIDDEN');
    const { name } = await operate('GET', `/organizations/${organizationId}`);
    assert.ok(answer.json.message.includes(name), answer.json.message);
  });

  it('a sign-in that fails ends on a page of ours, not at the client', async () => {
    const client = await confidential();
    const { login, personId } = await member();
    await operate('PATCH', `/organizations/${organizationId}/people/${personId}`, { status: 'suspended' });
    const done = await logIn(newBrowser(), newRequest(client).url, login);
    assert.match(done.location ?? '', /^\/console\/sign-in\?error=person_suspended&/);
  });

  it('access_denied when the person may lend nothing, before and after the sign-in', async () => {
    const client = await confidential();
    const closed = await scenario.makeResource({ peopleScopes: [] });
    const request = newRequest(client, { resource: closed.identifier });
    const { browser } = await member();
    assert.equal(answerIn((await browser.request(request.url)).location).error, 'access_denied');
    const done = await logIn(newBrowser(), request.url, `person-${randomUUID()}`);
    assert.equal(answerIn(done.location).error, 'access_denied');
    const foreign = await browser.request(request.url, { headers: { 'sec-fetch-site': 'cross-site' } });
    const path = pathOf(requestIdIn(foreign.location));
    const question = await browser.request(path);
    assert.deepEqual([question.status, question.json.details.error], [403, 'access_denied']);
    const decided = await browser.change('POST', path, { decision: 'approve' });
    assert.equal(answerIn(decided.json.redirectTo).error, 'access_denied');
  });

  it('the person is asked for all that they may lend when the client names no scope', async () => {
    const client = await confidential();
    const { tokens } = await granted(client);
    assert.equal(tokens.scope, 'orders:read orders:write');
  });
});

describe('a request that cannot be redirected', () => {
  const page = async (url: string) => {
    const answer = await t.call('GET', url, { headers: { accept: 'text/html' } });
    assert.deepEqual([answer.status, answer.headers.location], [400, undefined], answer.text);
    assert.match(String(answer.headers['content-type']), /^text\/html/);
    assert.match(
      String(answer.headers['content-security-policy']),
      /default-src 'none'.*frame-ancestors 'none'/,
    );
    assert.equal(answer.headers['x-frame-options'], 'DENY');
    assert.doesNotMatch(answer.text, /<script/i);
    return answer.text;
  };

  it('400 page, the same for an unknown client, a redirect URI that does not match, and a foreign client', async () => {
    const client = await confidential();
    const elsewhere = await operate('POST', '/organizations', {
      name: 'Elsewhere',
      slug: `else-${randomUUID()}`,
    });
    const foreign = await confidential({ organization_id: elsewhere.organizationId });
    const uris = [
      'https://APP.example/callback',
      'https://app.example/Callback',
      'https://app.example/callback/',
      'https://app.example:8443/callback',
      'https://app.example:443/callback',
      'https://app.example/%63allback',
      'https://user@app.example/callback',
      'https://app.example.evil.example/callback',
      'https://app.example/callback?x=1',
      'https://app.example/callback#x',
      'http://app.example/callback',
      'javascript:alert(1)',
      ' https://app.example/callback',
    ];
    const pages = [
      await page(newRequest(client, { client_id: randomUUID() }).url),
      await page(newRequest(client, { client_id: 'nobody' }).url),
      await page(newRequest(foreign).url),
    ];
    for (const uri of uris) pages.push(await page(newRequest(client, { redirect_uri: uri }).url));
    assert.equal(new Set(pages).size, 1);
  });

  it('the same page at our own API for an unknown organization, and for one without connections', async () => {
    const slug = `elsewhere-${randomUUID().slice(0, 8)}`;
    const elsewhere = await operate('POST', '/organizations', { name: 'Elsewhere', slug });
    const client = scenario.documentClient();
    const named = (organization: string) =>
      t.call('GET', newRequest(client, { organization, resource: scenario.issuer }).url);
    const unknown = await named('unknown');
    assert.equal(unknown.status, 400, unknown.text);
    for (const organization of [elsewhere.slug, elsewhere.organizationId, randomUUID()]) {
      const { status, text } = await named(organization);
      assert.deepEqual([status, text], [400, unknown.text]);
    }
    await scenario.connect(elsewhere.organizationId);
    const found = await named(elsewhere.slug);
    assert.equal(found.status, 302, found.text);
  });

  it('302 with the same error for an organization that does not exist, and for one without access', async () => {
    const elsewhere = await operate('POST', '/organizations', { name: 'Elsewhere', slug: randomUUID() });
    const client = await confidential();
    const errors = [];
    for (const organization of [elsewhere.slug, elsewhere.organizationId, 'unknown', randomUUID()]) {
      const { status, headers } = await t.call('GET', newRequest(client, { organization }).url);
      assert.equal(status, 302);
      errors.push(headers.location);
    }
    assert.match(String(errors[0]), /[?]error=invalid_request&/);
    assert.equal(new Set(errors).size, 1);
  });

  it('400 page for a missing or repeated client_id, a repeated redirect_uri, and one left out of several', async () => {
    const client = await confidential();
    const { url } = newRequest(client);
    await page(newRequest(client, { client_id: undefined }).url);
    await page(`${url}&client_id=${client.clientId}`);
    await page(`${url}&redirect_uri=${encodeURIComponent(redirectUri)}`);
    const several = await confidential({ redirectUris: [redirectUri, 'https://app.example/other'] });
    await page(newRequest(several, { redirect_uri: undefined }).url);
  });

  it('400 in the envelope with Accept: application/json', async () => {
    const client = await confidential();
    const answer = await t.call('GET', newRequest(client, { client_id: randomUUID() }).url, {
      headers: { accept: 'application/json' },
    });
    assert.deepEqual(
      [answer.status, answer.json.code, answer.json.details.error],
      [400, 'VALIDATION_ERROR', 'invalid_request'],
    );
  });

  it('a redirect URI may be left out when there is one, and then need not be repeated', async () => {
    const client = await confidential();
    const { browser } = await member();
    const request = newRequest(client, { redirect_uri: undefined });
    const code = await consent(browser, request);
    const { verifier } = request;
    const fields = { grant_type: 'authorization_code', code, code_verifier: verifier, ...client.credentials };
    assert.equal((await t.askToken(fields)).status, 200);
  });
});

describe('errors that go back to a registered client', () => {
  const errorOf = async (url: string) => {
    const { headers, text, status } = await t.call('GET', url);
    assert.equal(status, 302, text);
    const { error, error_description, state, iss } = answerIn(String(headers.location));
    assert.ok(error_description);
    assert.equal(iss, baseUrl);
    return { error, state };
  };

  it('302 with the error, the description, the state and iss', async () => {
    const client = await confidential();
    const pending = randomUUID();
    const deleted = await scenario.makeResource();
    await operate('DELETE', `/resources/${deleted.resourceId}`);
    const cases: [string, Record<string, string | undefined>][] = [
      ['invalid_request', { response_type: undefined }],
      ['unsupported_response_type', { response_type: 'token' }],
      ['unsupported_response_type', { response_type: 'code id_token' }],
      ['invalid_request', { response_mode: 'fragment' }],
      ['invalid_request', { code_challenge: undefined }],
      ['invalid_request', { code_challenge: 'short' }],
      ['invalid_request', { code_challenge_method: undefined }],
      ['invalid_request', { code_challenge_method: 'plain' }],
      ['invalid_request', { prompt: 'select_account' }],
      ['invalid_request', { prompt: 'none login' }],
      ['invalid_request', { request: 'a.b.c' }],
      ['invalid_target', { resource: undefined }],
      ['invalid_target', { resource: 'not a uri' }],
      ['invalid_target', { resource: `https://${pending}.example` }],
      ['invalid_target', { resource: deleted.identifier }],
      ['invalid_scope', { scope: 'orders:read unknown' }],
      ['invalid_scope', { scope: 'a"b' }],
      ['invalid_authorization_details', { authorization_details: '[]' }],
    ];
    for (const [error, change] of cases)
      assert.deepEqual(
        await errorOf(newRequest(client, change).url),
        { error, state: 'a state' },
        JSON.stringify(change),
      );
    const { url } = newRequest(client);
    const twice = await errorOf(`${url}&resource=${encodeURIComponent(resource.identifier)}`);
    assert.equal(twice.error, 'invalid_target');
    for (const name of ['state', 'scope', 'prompt', 'anything'])
      assert.equal((await errorOf(`${url}&${name}=a&${name}=b`)).error, 'invalid_request', name);
    assert.deepEqual(await errorOf(newRequest(client, { state: 'x'.repeat(1_025) }).url), {
      error: 'invalid_request',
      state: undefined,
    });
  });

  it('302 server_error when something fails, without details', async () => {
    const client = await confidential();
    await t.sql('alter table authorization_requests rename to moved_requests');
    try {
      assert.deepEqual(await errorOf(newRequest(client).url), { error: 'server_error', state: 'a state' });
    } finally {
      await t.sql('alter table moved_requests rename to authorization_requests');
    }
  });

  it('302 unauthorized_client for a suspended client', async () => {
    const client = await confidential();
    await operate('PATCH', `/agents/${client.agentId}`, { status: 'suspended' });
    assert.equal((await errorOf(newRequest(client).url)).error, 'unauthorized_client');
  });

  it('never a 5xx for hostile parameters', async () => {
    const client = await confidential();
    const { url } = newRequest(client);
    const hostile = [
      '__proto__=1',
      'constructor=x',
      'state=%00',
      'scope=%E2%80%AE',
      `login_hint=${'a'.repeat(400)}`,
      'organization=%27--',
      'client_id[]=1',
    ];
    for (const more of hostile) {
      const { status } = await t.call('GET', `${url}&${more}`);
      assert.ok(status === 302 || status === 400, `${more}: ${status}`);
    }
  });
});

describe('the organization', () => {
  it('is chosen by slug or id; without it, the page asks when another one with access has connections', async () => {
    const partner = await operate('POST', '/organizations', {
      name: 'Partner',
      slug: `partner-${randomUUID()}`,
      planTier: 'pro',
    });
    const shared = await scenario.makeResource();
    const client = scenario.documentClient();
    const started = async (more: Record<string, string | undefined> = {}) => {
      const browser = newBrowser();
      return {
        browser,
        ...(await browser.request(newRequest(client, { resource: shared.identifier, ...more }).url)),
      };
    };
    const problem = await started({ organization: partner.slug });
    const unknown = await started({ organization: 'unknown' });
    assert.deepEqual([problem.status, unknown.status, problem.text], [400, 400, unknown.text]);
    const admin = await t.agent({
      organization_id: partner.organizationId,
      allowedScopes: ['resources:read', 'resources:write'],
    });
    await operate('POST', `/organizations/${partner.organizationId}/members`, {
      agentId: admin.agentId,
      role: 'admin',
    });
    await operate('PUT', `/resources/${shared.resourceId}/shares/${partner.organizationId}`, {
      scopes: ['orders:read'],
    });
    const accepted = await t.call('POST', `/api/v1/shares/${shared.resourceId}/accept`, {
      token: await t.token(undefined, admin),
    });
    assert.ok(accepted.status < 300, accepted.text);
    assert.match((await started()).location ?? '', /oidc\/start/);
    const { connectionId } = await scenario.connect(partner.organizationId);
    const { browser, location } = await started();
    const path = `${pathOf(requestIdIn(location))}/sign-in`;
    const before = (await browser.request(path)).json;
    assert.deepEqual([before.organizationNeeded, before.connections], [true, []]);
    const wrong = await browser.change('POST', path, { organization: 'unknown' });
    assert.deepEqual([wrong.status, wrong.json.code], [404, 'ORG_NOT_FOUND']);
    const stranger = await operate('POST', '/organizations', {
      name: 'Stranger',
      slug: `stranger-${randomUUID()}`,
    });
    const noAccess = await browser.change('POST', path, { organization: stranger.slug });
    assert.deepEqual(noAccess.json, wrong.json);
    const chosen = await browser.change('POST', path, { organization: partner.slug });
    assert.deepEqual(
      [chosen.json.organizationNeeded, chosen.json.connections],
      [false, [{ connectionId, name: 'Company' }]],
    );
    for (const organization of [partner.slug, partner.organizationId]) {
      const named = await started({ organization });
      assert.ok(named.location?.includes(`connectionId=${connectionId}`), String(named.location));
    }
  });

  it('for our own API is that of the session; an admin lends scopes of the console, a member none', async () => {
    const client = await confidential();
    const { browser } = await member();
    const none = newRequest(client, { resource: baseUrl });
    assert.equal(answerIn((await browser.request(none.url)).location).error, 'access_denied');
    const { agentId } = await t.agent({ allowedScopes: ['agents:read', 'agents:write'] });
    const login = `admin-${randomUUID()}`;
    const invited = { issuer: scenario.provider.issuer, subject: login, name: 'Ada', role: 'admin', agentId };
    await operate('POST', `/organizations/${organizationId}/people`, invited);
    const admin = await member(login);
    const request = newRequest(client, { resource: baseUrl, scope: 'agents:read audit:read admin:orgs' });
    const question = await admin.browser.request(pathOf(await ask(admin.browser, request)));
    assert.deepEqual(
      question.json.scopes.map(({ name }: { name: string }) => name),
      ['agents:read'],
    );
    assert.deepEqual(question.json.resource, { identifier: baseUrl, name: 'Countersign' });
    const { json } = await exchange(request, await consent(admin.browser, request));
    assert.deepEqual([json.scope, decodeJwt(json.access_token).aud], ['agents:read', baseUrl]);
    assert.equal((await t.call('GET', '/api/v1/agents', { token: json.access_token })).status, 200);
    // The same browser would be asked by a client with a document, in the session's organization.
    const document = newRequest(scenario.documentClient(), { resource: baseUrl });
    await ask(admin.browser, document);
    const alone = newBrowser();
    const path = `${pathOf(requestIdIn((await alone.request(document.url)).location))}/sign-in`;
    assert.equal((await alone.request(path)).json.organizationNeeded, true);
  });

  it('with several connections the page offers them all', async () => {
    const home = await operate('POST', '/organizations', {
      name: 'Home',
      slug: randomUUID(),
      planTier: 'pro',
    });
    const first = await scenario.connect(home.organizationId, 'First');
    const second = await operate('POST', `/organizations/${home.organizationId}/connections`, {
      ...{ name: 'Second', issuer: 'https://login.example.com', clientId: 'a', clientSecret: 'a' },
    });
    const client = await confidential({ organization_id: home.organizationId });
    const browser = newBrowser();
    const { location } = await browser.request(newRequest(client, { resource: baseUrl }).url);
    const requestId = requestIdIn(location);
    const { connections, organizationNeeded } = (await browser.request(`${pathOf(requestId)}/sign-in`)).json;
    assert.deepEqual(
      [organizationNeeded, connections],
      [
        false,
        [
          { connectionId: first.connectionId, name: 'First' },
          { connectionId: second.connectionId, name: 'Second' },
        ],
      ],
    );
    const start = `/console/api/oidc/start?connectionId=${first.connectionId}&requestId=${requestId}`;
    const done = await logIn(browser, start, `person-${randomUUID()}`);
    assert.equal(done.location?.startsWith(redirectUri), true, 'a member may lend nothing of our own API');
  });

  it("without a connection: the instance's own provider if there is one, otherwise the page", async () => {
    const node = await startApp({ BASE_URL: baseUrl, ...scenario.provider.variables }, t);
    const people = await createPeopleScenario(node, scenario.provider, baseUrl);
    const { organizationId: home, person } = await people.invite();
    const client = await confidential({ organization_id: home });
    const { url } = newRequest(client, { resource: baseUrl });
    const browser = createBrowser(node, baseUrl);
    const begun = await browser.request(url);
    assert.match(begun.location ?? '', /^\/console\/api\/oidc\/start\?requestId=[0-9a-f-]{36}$/);
    const done = await logIn(browser, begun.location ?? '', person.subject);
    const question = await browser.request(pathOf(requestIdIn(done.location)));
    assert.deepEqual([question.status, question.json.person.personId], [200, person.personId], question.text);
    const alone = newBrowser();
    const path = `${pathOf(requestIdIn((await alone.request(url)).location))}/sign-in`;
    const { connections, instance, organizationNeeded } = (await alone.request(path)).json;
    assert.deepEqual([connections, instance, organizationNeeded], [[], false, false]);
  });
});
