/** Clients that come by a metadata document: anybody may publish one. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt, exportJWK, SignJWT } from 'jose';
import { baseUrl, createAuthorizationScenario } from '../../../test/support/scenarios/authorization.ts';

const scenario = await createAuthorizationScenario();
const { t, operate, organizationId, documentClient, documents, newRequest, newBrowser } = scenario;
const { member, logIn, ask, decide, answerIn, consent, exchange, refresh, pathOf, requestIdIn } = scenario;

const setPolicy = (mode: string, domains: string[] = []) =>
  operate('PUT', `/organizations/${organizationId}/client-policy`, { mode, domains });

const agentsOf = (clientUri: string) =>
  t.sql<{ agent_id: string; status: string }>('select agent_id, status from agents where client_uri = $1', [
    clientUri,
  ]);

/** A page that names the host, and links back with the error. */
const problemOf = (answer: { status: number; text: string; location?: string | undefined }) => {
  assert.deepEqual([answer.status, answer.location], [400, undefined], answer.text);
  assert.match(answer.text, /receiver\.test/);
  const [, href = ''] = /<a href="([^"]*)"/.exec(answer.text) ?? [];
  const { error, state, iss } = answerIn(href.replaceAll('&amp;', '&'));
  assert.equal(iss, baseUrl);
  return { error, state };
};

/** A client that proves itself by a key. */
async function clientWithKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' };
  const client = documentClient({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [jwk] } });
  const assertion = async (key = privateKey, clientId = client.clientId) => ({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await new SignJWT({ jti: randomUUID() })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(baseUrl)
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(key),
  });
  return { client, assertion, privateKey };
}

describe('a client with a document', () => {
  it('is shown with its host, becomes an agent at the consent, and gets tokens with client_uri', async () => {
    const client = documentClient({ redirect_uris: ['http://localhost/callback'] });
    const uri = 'http://localhost:8123/callback';
    const { browser, personId } = await member();
    const request = newRequest({ ...client, redirectUri: uri });
    const requestId = await ask(browser, request);
    const question = await browser.request(pathOf(requestId));
    assert.deepEqual(question.json.client, {
      agentId: null,
      clientId: client.clientId,
      name: 'Example application',
      host: 'receiver.test',
      redirectHost: 'localhost',
      registered: false,
    });
    assert.deepEqual(await agentsOf(client.clientId), []);
    const decided = await decide(browser, requestId);
    const [agent] = await agentsOf(client.clientId);
    assert.equal(agent?.status, 'active');
    const { json } = await exchange(request, String(answerIn(decided.json.redirectTo, uri).code));
    const claims = decodeJwt(json.access_token);
    assert.deepEqual(
      [claims.sub, claims.client_id, claims.client_uri],
      [personId, agent?.agent_id, client.clientId],
    );
    // Public, and on loopback: asked again.
    requestIdIn((await browser.request(request.url, { headers: { 'sec-fetch-site': 'none' } })).location);
  });

  it('a name that a client chooses is shown as text', async () => {
    const client = documentClient({ client_name: '<script>alert(1)</script>' });
    const { browser } = await member();
    const question = await browser.request(pathOf(await ask(browser, newRequest(client))));
    assert.equal(question.json.client.name, '<script>alert(1)</script>');
    const page = await browser.request(newRequest(client, { scope: 'unknown', state: '"><script>' }).url);
    assert.doesNotMatch(page.text, /<script/);
    assert.equal(problemOf(page).state, '"><script>');
  });

  it('gets errors on a page, with the way back as a link, until the person has decided', async () => {
    const client = documentClient();
    const errors: [string, Record<string, string | undefined>][] = [
      ['unsupported_response_type', { response_type: 'token' }],
      ['invalid_request', { code_challenge: undefined }],
      ['invalid_target', { resource: undefined }],
      ['invalid_target', { resource: `https://${randomUUID()}.example` }],
      ['invalid_scope', { scope: 'unknown' }],
      ['login_required', { prompt: 'none' }],
    ];
    for (const [error, change] of errors)
      assert.deepEqual(problemOf(await newBrowser().request(newRequest(client, change).url)), {
        error,
        state: 'a state',
      });
    const { browser } = await member();
    const headers = { 'sec-fetch-site': 'none' };
    const silent = await browser.request(newRequest(client, { prompt: 'none' }).url, { headers });
    assert.equal(problemOf(silent).error, 'consent_required');
    const closed = await scenario.makeResource({ peopleScopes: [] });
    const denied = newRequest(client, { resource: closed.identifier });
    assert.equal(problemOf(await browser.request(denied.url)).error, 'access_denied');
    const done = await logIn(newBrowser(), denied.url, `person-${randomUUID()}`);
    requestIdIn(done.location);
    const refused = await decide(browser, await ask(browser, newRequest(client)), { decision: 'deny' });
    assert.equal(answerIn(refused.json.redirectTo).error, 'access_denied');
  });

  it('400 page for an unusable document and for a redirect URI that it does not name', async () => {
    const client = documentClient();
    const missing = client.clientId.replace('/clients/', '/missing/');
    for (const change of [
      { client_id: missing },
      { client_id: 'https://receiver.test' },
      { client_id: 'http://receiver.test/client.json' },
      { redirect_uri: 'https://evil.example/callback' },
    ]) {
      const { status, location, text } = await newBrowser().request(newRequest(client, change).url);
      assert.deepEqual([status, location], [400, undefined], text);
      assert.doesNotMatch(text, /<a /);
    }
  });

  it('the token endpoint uses what the consent stored, not what the document says later', async () => {
    const client = documentClient();
    const { browser } = await member();
    const request = newRequest(client);
    const code = await consent(browser, request);
    documents.delete(client.path);
    const { status, json } = await exchange(request, code);
    assert.equal(status, 200, JSON.stringify(json));
    assert.equal((await refresh(client, json.refresh_token)).status, 200);
  });

  it('with private_key_jwt proves itself by its key, and is no public client', async () => {
    const { client, assertion } = await clientWithKey();
    const { browser } = await member();
    const request = newRequest(client);
    const code = await consent(browser, request);
    const bare = await exchange(request, code);
    assert.deepEqual([bare.status, bare.json.error], [400, 'invalid_grant']);
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const forged = await exchange(request, code, await assertion(other));
    const guessed = await exchange(request, 'unknown', await assertion());
    assert.deepEqual([forged.status, forged.json.error], [401, 'invalid_client']);
    assert.deepEqual(forged.json, guessed.json);
    const good = await exchange(request, code, await assertion());
    assert.equal(good.status, 200, good.text);
    assert.equal((await refresh(client, good.json.refresh_token)).json.error, 'invalid_grant');
    const used = await assertion();
    assert.equal((await refresh(client, good.json.refresh_token, used)).status, 200);
    assert.equal((await refresh(client, good.json.refresh_token, used)).json.error, 'invalid_client');
  });

  it('invalid_client for the id of its agent: it has no grant but those of a person', async () => {
    const { client, assertion, privateKey } = await clientWithKey();
    const { browser } = await member();
    const request = newRequest(client);
    const { json } = await exchange(request, await consent(browser, request), await assertion());
    const agentId = String(decodeJwt(json.access_token).client_id);
    const byId = () => assertion(privateKey, agentId);
    const own = await t.askToken({ grant_type: 'client_credentials', ...(await byId()) });
    assert.deepEqual([own.status, own.json.error], [401, 'invalid_client']);
    const refreshed = { grant_type: 'refresh_token', refresh_token: json.refresh_token };
    assert.equal((await t.askToken({ ...refreshed, ...(await byId()) })).json.error, 'invalid_client');
    const asked = { token: json.access_token, ...(await byId()) };
    assert.equal((await t.form('/api/v1/token/introspect', asked)).status, 401);

    const open = documentClient();
    const asksOpen = newRequest(open);
    const { json: tokens } = await exchange(asksOpen, await consent(browser, asksOpen));
    const named = { ...open, credentials: { client_id: String(decodeJwt(tokens.access_token).client_id) } };
    assert.equal((await refresh(named, tokens.refresh_token)).json.error, 'invalid_client');
    assert.equal((await refresh(open, tokens.refresh_token)).status, 200);
  });

  it('is refused on a page while its agent is suspended', async () => {
    const client = documentClient();
    const { browser } = await member();
    const request = newRequest(client);
    await consent(browser, request);
    const [agent] = await agentsOf(client.clientId);
    await operate('PATCH', `/agents/${agent?.agent_id}`, { status: 'suspended' });
    const blocked = await browser.request(request.url);
    assert.equal(problemOf(blocked).error, 'access_denied');
  });

  it("is refused with access_denied when the organization's plan has no room for its agent", async () => {
    const client = documentClient();
    const { browser } = await member();
    const requestId = await ask(browser, newRequest(client));
    const [plan] = await t.sql<{ max_agents: number }>(
      'select max_agents from organizations where organization_id = $1',
      [organizationId],
    );
    const setPlan = (most: number | undefined) =>
      t.sql('update organizations set max_agents = $2 where organization_id = $1', [organizationId, most]);
    await setPlan(1);
    try {
      const { error, error_description } = answerIn((await decide(browser, requestId)).json.redirectTo);
      assert.deepEqual([error, error_description?.includes('plan')], ['access_denied', true]);
      assert.deepEqual(await agentsOf(client.clientId), []);
    } finally {
      await setPlan(plan?.max_agents);
    }
  });

  it('is named by its address at the authorization endpoint, not by the id of its agent', async () => {
    const client = documentClient();
    const { browser } = await member();
    await consent(browser, newRequest(client));
    const [agent] = await agentsOf(client.clientId);
    const { status, location } = await browser.request(
      newRequest(client, { client_id: agent?.agent_id }).url,
    );
    assert.deepEqual([status, location], [400, undefined]);
  });
});

describe('the client policy', () => {
  it('off and other domains: unauthorized_client on a page', async () => {
    const client = documentClient();
    const { browser } = await member();
    const requestId = await ask(browser, newRequest(client));
    for (const [mode, domains] of [
      ['off', []],
      ['domains', ['example.com']],
    ] as const) {
      await setPolicy(mode, [...domains]);
      assert.equal(problemOf(await browser.request(newRequest(client).url)).error, 'unauthorized_client');
    }
    const decided = await decide(browser, requestId);
    assert.equal(answerIn(decided.json.redirectTo).error, 'unauthorized_client');
    assert.deepEqual(await agentsOf(client.clientId), []);
    await setPolicy('domains', ['test']);
    await ask(browser, newRequest(client));
    await setPolicy('any');
  });

  it('approval: the agent is made after the sign-in, suspended, and the person is told', async () => {
    await setPolicy('approval');
    const client = documentClient();
    const request = newRequest(client);
    const login = `person-${randomUUID()}`;
    const browser = newBrowser();
    const begun = await browser.request(request.url);
    assert.deepEqual(await agentsOf(client.clientId), []);
    const done = await logIn(browser, begun.location ?? '', login);
    const question = await browser.request(pathOf(requestIdIn(done.location)));
    assert.deepEqual([question.status, question.json.details.error], [403, 'access_denied']);
    assert.match(question.json.message, /administrator/);
    assert.equal(answerIn(question.json.details.redirectTo).error, 'access_denied');
    const [agent] = await agentsOf(client.clientId);
    assert.equal(agent?.status, 'suspended');
    assert.equal(problemOf(await browser.request(request.url)).error, 'access_denied');
    await operate('PATCH', `/agents/${agent?.agent_id}`, { status: 'active' });
    assert.ok(await consent(browser, request));
    await setPolicy('any');
  });
});
