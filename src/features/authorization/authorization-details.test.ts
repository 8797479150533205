/** Details of an action (RFC 9396) from `/authorize` to the token, its narrowing, and the next agent. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { createAuthorizationScenario } from '../../../test/support/scenarios/authorization.ts';

const scenario = await createAuthorizationScenario();
const { t, operate, confidential, documentClient, makeResource, newRequest } = scenario;
const { member, ask, decide, pathOf, answerIn, consent, exchange, refresh, tokensFor } = scenario;

const paymentType = {
  type: 'payment',
  description: 'Pay an invoice',
  schema: {
    type: 'object',
    properties: {
      type: {},
      amount: { type: 'number', exclusiveMinimum: 0, multipleOf: 0.01 },
      currency: { enum: ['EUR', 'USD'] },
    },
    required: ['amount', 'currency'],
    additionalProperties: false,
  },
};
const noteType = { type: 'note', description: null, schema: { properties: { text: { maxLength: 200 } } } };
const { identifier } = await makeResource({ authorizationDetailTypes: [paymentType, noteType] });

const payment = { type: 'payment', amount: 19.99, currency: 'EUR' };
const note = { type: 'note', text: '<b>text</b>', '/~ü': [null, { deep: true }] };
const json = (...details: unknown[]) => JSON.stringify(details);

const introspect = async (token: unknown) =>
  (await t.form('/api/v1/token/introspect', { token: String(token) }, await t.token())).json;

const assertInvalid = (answer: { status: number; json: Record<string, string> }, pattern: RegExp) => {
  assert.deepEqual([answer.status, answer.json.error], [400, 'invalid_authorization_details']);
  assert.match(String(answer.json.error_description), pattern);
};

describe('authorization_details at /authorize', () => {
  it('the question shows them, and the token, its introspection and the events carry exactly them', async () => {
    const client = await confidential();
    const { browser } = await member();
    const details = [payment, note];
    const request = newRequest(client, {
      resource: identifier,
      scope: 'orders:read',
      authorization_details: json(...details),
    });
    const requestId = await ask(browser, request);
    const question = (await browser.request(pathOf(requestId))).json;
    assert.deepEqual(question.authorizationDetails, details);
    assert.deepEqual(question.authorizationDetailTypes, [
      { type: 'payment', description: 'Pay an invoice' },
      { type: 'note', description: null },
    ]);
    const decided = await decide(browser, requestId);
    assert.equal(decided.status, 200, decided.text);
    const issued = await exchange(request, String(answerIn(decided.json.redirectTo).code));
    assert.equal(issued.status, 200, issued.text);
    assert.deepEqual([issued.json.authorization_details, issued.json.scope], [details, 'orders:read']);
    assert.deepEqual(decodeJwt(issued.json.access_token).authorization_details, details);
    assert.deepEqual((await introspect(issued.json.access_token)).authorization_details, details);
    const [event] = await t.sql<{ metadata: { authorizationDetails: unknown } }>(
      "select metadata from audit_events where action = 'consent.granted' and agent_id = $1",
      [client.agentId],
    );
    assert.deepEqual(event?.metadata.authorizationDetails, details);
  });

  it('the largest details reach the token and the next agent', async () => {
    const client = await confidential();
    const { browser } = await member();
    const empty = Buffer.byteLength(json({ type: 'note', more: '' }));
    const largest = { type: 'note', more: 'ü'.repeat((4_096 - empty) >> 1) };
    const { access_token: parentToken } = await tokensFor(
      browser,
      client,
      { resource: identifier, scope: 'orders:read', authorization_details: json(largest) },
      { decision: 'approve', allowRedelegation: true },
    );
    assert.deepEqual((await introspect(parentToken)).authorization_details, [largest]);
    const { agentId: delegateeId } = await t.agent();
    const link = await t.call('POST', '/api/v1/delegations', {
      token: await t.token(undefined, client.agent),
      payload: { delegateeId, scopes: ['orders:read'], parentToken },
    });
    assert.equal(link.status, 201, link.text);
  });

  it('without scope they say it all, and the person can untick every scope', async () => {
    const client = await confidential();
    const { browser } = await member();
    const more = { resource: identifier, authorization_details: json(payment) };
    const requestId = await ask(browser, newRequest(client, more));
    assert.deepEqual((await browser.request(pathOf(requestId))).json.scopes, []);
    const scopes: string[] = [];
    for (const [change, decision] of [
      [more, undefined],
      [
        { ...more, scope: 'orders:read' },
        { decision: 'approve', scopes },
      ],
    ] as const) {
      const tokens = await tokensFor(browser, client, change, decision);
      const { active, scope, authorization_details } = await introspect(tokens.access_token);
      assert.deepEqual([active, scope ?? '', authorization_details], [true, '', [payment]]);
      const next = await refresh(client, String(tokens.refresh_token));
      assert.deepEqual([next.status, next.json.authorization_details], [200, [payment]]);
    }
    const plain = await ask(browser, newRequest(client, { resource: identifier, prompt: 'consent' }));
    const empty = await decide(browser, plain, { decision: 'approve', scopes: [] });
    assert.deepEqual([empty.status, empty.json.code], [400, 'VALIDATION_ERROR']);
  });

  it('access_denied for a person who may lend nothing there', async () => {
    const closed = await makeResource({ peopleScopes: [], authorizationDetailTypes: [paymentType] });
    const client = await confidential();
    const { browser } = await member();
    const request = newRequest(client, {
      resource: closed.identifier,
      authorization_details: json(payment),
    });
    const { location } = await browser.request(request.url);
    assert.equal(answerIn(location).error, 'access_denied');
  });

  it('a person is asked each time, also after a consent that covers the scopes', async () => {
    const client = await confidential();
    const { browser } = await member();
    const own = { headers: { 'sec-fetch-site': 'none' } };
    await tokensFor(browser, client, { resource: identifier, scope: 'orders:read' });
    const more = { resource: identifier, scope: 'orders:read', authorization_details: json(payment) };
    const first = newRequest(client, more);
    assert.ok(scenario.requestIdIn((await browser.request(first.url, own)).location));
    await consent(browser, first);
    assert.ok(scenario.requestIdIn((await browser.request(newRequest(client, more).url, own)).location));
    const silent = await browser.request(newRequest(client, { ...more, prompt: 'none' }).url, own);
    assert.equal(answerIn(silent.location).error, 'consent_required');
    const other = await confidential();
    await tokensFor(browser, other, more);
    const plain = newRequest(other, { resource: identifier, scope: 'orders:read' });
    assert.ok(scenario.requestIdIn((await browser.request(plain.url, own)).location));
  });

  const wrong: [string, RegExp][] = [
    ['{', /^authorization_details must be a JSON array/],
    ['{}', /^authorization_details must be a JSON array/],
    ['[]', /^authorization_details must have 1 to 10 objects$/],
    [json(...Array(11).fill(payment)), /1 to 10 objects/],
    [json({ ...note, text: 'x'.repeat(4_100) }), /4096 bytes/],
    [json(payment, 1), /^\/1 must be an object$/],
    [json({ amount: 1 }), /^\/0\/type /],
    [json({ type: 'refund' }), /^\/0\/type is no type of the API$/],
    [json({ type: 'constructor' }), /^\/0\/type is no type of the API$/],
    [json(payment, { ...payment, amount: '1' }), /^\/1\/amount must be number$/],
    [json({ ...payment, amount: 0.001 }), /^\/0\/amount must be a multiple of 0\.01$/],
    [json({ type: 'payment', amount: 1 }), /^\/0\/currency is missing$/],
    [json({ ...payment, 'a/b "': 1 }), /^\/0\/a~1b%20%22 is not allowed$/],
    [json({ ...payment, ['ü'.repeat(900)]: 1 }), /^\/0\/(%C3%BC){64}\.\.\. is not allowed$/],
    ['[{"type":"payment","amount":1e999,"currency":"EUR"}]', /^\/0\/amount is a number too large/],
    ['[{"type":"payment","amount":1,"amount":2,"currency":"EUR"}]', /the same field twice$/],
    ['[{"type":"note","text":"\\u0000"}]', /^\/0\/text contains a NUL character$/],
    ['[{"type":"note","text":"\\ud800"}]', /^\/0\/text contains half a surrogate pair/],
    ['[{"type":"note","__proto__":{}}]', /^\/0 has a field whose name is __proto__$/],
    [`[{"type":"note","a":${'['.repeat(40)}${']'.repeat(40)}}]`, /nested deeper than 16 levels$/],
  ];

  it('302 invalid_authorization_details with the place, and a page for a client with a document', async () => {
    const client = await confidential();
    const { browser } = await member();
    for (const [text, pattern] of wrong) {
      const change = { resource: identifier, authorization_details: text };
      const { location } = await browser.request(newRequest(client, change).url);
      const { error, error_description } = answerIn(location);
      assert.equal(error, 'invalid_authorization_details', text.slice(0, 100));
      assert.match(String(error_description), pattern, text.slice(0, 100));
    }
    const foreign = newRequest(documentClient(), {
      resource: identifier,
      authorization_details: json({ type: 'refund' }),
    });
    const page = await browser.request(foreign.url, { headers: { accept: 'application/json' } });
    assert.deepEqual(
      [page.status, page.json.details.error],
      [400, 'invalid_authorization_details'],
      page.text,
    );
    assert.match(page.text, /\/0\/type is no type of the API/);
  });

  it('302 invalid_authorization_details at an API without the type, and at our own, before the sign-in', async () => {
    const client = await confidential();
    const browser = scenario.newBrowser();
    for (const resource of [scenario.resource.identifier, scenario.issuer]) {
      const request = newRequest(client, { resource, authorization_details: json(payment) });
      const { error } = answerIn((await browser.request(request.url)).location);
      assert.equal(error, 'invalid_authorization_details');
    }
  });

  it('a type that the API loses before the decision is not granted', async () => {
    const own = await makeResource({ authorizationDetailTypes: [paymentType] });
    const client = await confidential();
    const { browser } = await member();
    const change = { resource: own.identifier, authorization_details: json(payment) };
    const [seen, decided] = [
      await ask(browser, newRequest(client, change)),
      await ask(browser, newRequest(client, change)),
    ];
    await operate('PATCH', `/resources/${own.resourceId}`, { authorizationDetailTypes: [] });
    const question = await browser.request(pathOf(seen));
    assert.deepEqual(
      [question.status, question.json.details.error],
      [403, 'invalid_authorization_details'],
      question.text,
    );
    const answer = await decide(browser, decided);
    assert.equal(answerIn(answer.json.redirectTo).error, 'invalid_authorization_details');
  });

  it('a refusal records them', async () => {
    const client = await confidential();
    const { browser } = await member();
    const request = newRequest(client, { resource: identifier, authorization_details: json(payment) });
    await decide(browser, await ask(browser, request), { decision: 'deny' });
    const [event] = await t.sql<{ metadata: { authorizationDetails: unknown } }>(
      "select metadata from audit_events where action = 'consent.denied' and agent_id = $1",
      [client.agentId],
    );
    assert.deepEqual(event?.metadata.authorizationDetails, [payment]);
  });
});

describe('authorization_details at /token', () => {
  const both = { resource: identifier, scope: 'orders:read', authorization_details: json(payment, note) };

  it('narrows the token of a code, and a refresh only its own', async () => {
    const client = await confidential();
    const { browser } = await member();
    const request = newRequest(client, both);
    const first = await exchange(request, await consent(browser, request), {
      authorization_details: JSON.stringify([{ currency: 'EUR', amount: 19.99, type: 'payment' }]),
    });
    assert.deepEqual([first.status, first.json.authorization_details], [200, [payment]], first.text);
    assert.deepEqual((await introspect(first.json.access_token)).authorization_details, [payment]);
    const narrowed = await refresh(client, first.json.refresh_token, { authorization_details: json(note) });
    assert.deepEqual([narrowed.status, narrowed.json.authorization_details], [200, [note]]);
    const full = await refresh(client, narrowed.json.refresh_token);
    assert.deepEqual(full.json.authorization_details, [payment, note]);
  });

  it('400 for details that were not approved, or of a wrong shape; the refresh token stays usable', async () => {
    const client = await confidential();
    const { browser } = await member();
    const tokens = await tokensFor(browser, client, both);
    const wrong: [string, RegExp][] = [
      [json({ ...payment, amount: 20 }), /^\/0 is none of the details that were approved$/],
      [json(payment, payment), /^\/1 is none of the details that were approved$/],
      [json(payment, { type: 'payment' }), /^\/1 is none of the details that were approved$/],
      ['[]', /1 to 10 objects$/],
      ['nonsense', /must be a JSON array/],
      [json({ type: 'note', text: 'x'.repeat(5_000) }), /4096 bytes$/],
      ['[{"type":"note","text":"\\u0000"}]', /^\/0\/text contains a NUL character$/],
    ];
    for (const [authorization_details, pattern] of wrong)
      assertInvalid(await refresh(client, String(tokens.refresh_token), { authorization_details }), pattern);
    assert.equal((await refresh(client, String(tokens.refresh_token))).status, 200);
    const plain = await tokensFor(browser, client, { resource: identifier, scope: 'orders:write' });
    const asked = { authorization_details: json(payment) };
    assertInvalid(await refresh(client, String(plain.refresh_token), asked), /^\/0 is none of the details/);
  });

  it('400 for client_credentials: no person approved anything', async () => {
    const { credentials } = await confidential();
    const form = { grant_type: 'client_credentials', ...credentials };
    assertInvalid(await t.askToken({ ...form, authorization_details: json(payment) }), /approved/);
    assert.equal((await t.askToken(form)).status, 200);
  });

  it('a second agent gets them with the chain, and narrows them at the token exchange', async () => {
    const client = await confidential();
    const helper = await t.agent();
    const { browser } = await member();
    const decision = { decision: 'approve', allowRedelegation: true };
    const { access_token: parentToken } = await tokensFor(browser, client, both, decision);
    const link = await t.call('POST', '/api/v1/delegations', {
      token: await t.token(undefined, client.agent),
      payload: { delegateeId: helper.agentId, scopes: ['orders:read'], parentToken },
    });
    assert.deepEqual([link.status, link.json.authorizationDetails], [201, [payment, note]], link.text);
    const redeem = (more: Record<string, string> = {}) =>
      t.askToken({
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: link.json.delegationToken,
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        resource: identifier,
        client_id: helper.clientId,
        client_secret: helper.clientSecret,
        ...more,
      });
    assert.deepEqual((await redeem()).json.authorization_details, [payment, note]);
    const narrowed = await redeem({ authorization_details: json(note) });
    assert.deepEqual((await introspect(narrowed.json.access_token)).authorization_details, [note]);
    assertInvalid(await redeem({ authorization_details: json({ type: 'note' }) }), /^\/0 is none of/);
  });
});
