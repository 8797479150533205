/** Creates the targets and principals of matrix-rows.ts. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { InjectOptions } from 'fastify';
import { organizationScopes, resourceScopes } from '../../src/contract/scopes.ts';
import type { Principal, Target, TestRequest } from '../matrix/matrix-rows.ts';
import { type Answer, newAgent, type TestApp } from './harness.ts';
import { startIssuer } from './peers/issuers.ts';
import { createPaymentEvents, type PaymentEvents } from './peers/payment-events.ts';
import { cookieIn, createConsoleClient } from './scenarios/console.ts';
import { createDelegationClient } from './scenarios/delegations.ts';

export interface MatrixFixture {
  readonly operatorToken: string;
  readonly paymentEvents: PaymentEvents;
  /** With all fields, or at least those that are named: each takes requests. */
  makeTarget(...fields: readonly (keyof Target)[]): Promise<Target>;
  /** In the same organization as the target, so that only the principal differs. */
  tokenOf(principal: Principal, organizationId: string): Promise<string | undefined>;
  /** A token of the target's agent by its trust policy, after both got every scope of an organization and the role admin. */
  workloadOf(target: Target): Promise<string>;
  /** An agent with these scopes and a token of it. */
  agentIn(
    organizationId: string,
    scopes: readonly string[],
    role?: 'member' | 'admin',
  ): Promise<{ agentId: string; token: string }>;
}

export async function createMatrixFixture(t: TestApp): Promise<MatrixFixture> {
  const operatorToken = await t.token();
  const { createDelegation, redeem } = createDelegationClient(t);
  const outsideIssuer = await startIssuer(t.clock);
  const paymentEvents = await createPaymentEvents(t.clock);

  const asOperator = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
    const answer = await t.call(method, `/api/v1${url}`, {
      token: operatorToken,
      ...(payload && { payload }),
    });
    assert.ok(answer.status < 300, `${method} ${url}: ${answer.status} ${answer.text}`);
    return answer.text === '' ? undefined : answer.json;
  };

  const makeOrganization = async (): Promise<string> =>
    (
      await asOperator('POST', '/organizations', {
        name: 'Some team',
        slug: `team-${randomUUID().slice(0, 18)}`,
        planTier: 'pro',
      })
    ).organizationId;

  const makeAgent = async (organizationId: string, allowedScopes: readonly string[]): Promise<string> =>
    (await asOperator('POST', '/agents', newAgent({ organization_id: organizationId, allowedScopes })))
      .agentId;

  const colleagueId = await makeAgent(t.operator.organizationId, []);

  const makeToken = async (agentId: string): Promise<string> =>
    t.token(undefined, await asOperator('POST', `/agents/${agentId}/credentials`));

  const agentIn: MatrixFixture['agentIn'] = async (home, scopes, role) => {
    const agentId = await makeAgent(home, scopes);
    if (role) await asOperator('POST', `/organizations/${home}/members`, { agentId, role });
    return { agentId, token: await makeToken(agentId) };
  };

  /** The token of an agent with these scopes, to which the delegator delegates every scope it can. */
  const delegatedToken = async (
    delegatorToken: string,
    organizationId: string,
    own: readonly string[],
    role?: 'admin',
  ) => {
    const agentId = await makeAgent(organizationId, own);
    if (role) await asOperator('POST', `/organizations/${organizationId}/members`, { agentId, role });
    const client = { agentId, ...(await asOperator('POST', `/agents/${agentId}/credentials`)) };
    const delegation = await createDelegation(delegatorToken, client, organizationScopes);
    return { chainId: delegation.chainId, token: await redeem(client, delegation) };
  };

  const delegatedByOperator = (await delegatedToken(operatorToken, t.operator.organizationId, [])).token;
  const ended = await delegatedToken(operatorToken, t.operator.organizationId, []);
  await asOperator('DELETE', `/delegations/${ended.chainId}`);

  /** A token of the principal, in this organization. */
  const tokenOf: MatrixFixture['tokenOf'] = async (who, home) => {
    switch (who) {
      case 'anonymous':
        return undefined;
      case 'garbage':
        return 'not.a.token';
      case 'operator':
        return operatorToken;
      case 'expired': {
        const hour = 3_601_000;
        t.clock.advance(-hour);
        const { token } = await agentIn(home, organizationScopes);
        t.clock.advance(hour);
        return token;
      }
      case 'revoked': {
        const { token } = await agentIn(home, organizationScopes);
        const answer = await t.form('/api/v1/token/revoke', { token }, token);
        assert.equal(answer.status, 200);
        return token;
      }
      case 'wrongScope':
        return (await agentIn(home, [])).token;
      case 'member':
      case 'admin':
        return (await agentIn(home, organizationScopes, who)).token;
      case 'delegatedByOperator':
        return delegatedByOperator;
      case 'delegationRevoked':
        return ended.token;
      case 'delegated':
      case 'delegatedAdmin': {
        const delegatorToken = (await agentIn(home, organizationScopes, 'admin')).token;
        const delegated =
          who === 'delegated'
            ? await delegatedToken(delegatorToken, home, [])
            : await delegatedToken(delegatorToken, home, organizationScopes, 'admin');
        return delegated.token;
      }
      case 'workload':
      case 'workloadAdmin': {
        const { agentId } = await agentIn(home, organizationScopes, 'admin');
        const changes = { scopes: organizationScopes, actsAsAdmin: who === 'workloadAdmin' };
        const { outsideToken } = await makePolicy(agentId, changes);
        return exchange(agentId, outsideToken);
      }
      case 'decommissioned': {
        const { agentId, token } = await agentIn(home, organizationScopes);
        await asOperator('DELETE', `/agents/${agentId}`);
        return token;
      }
      case 'otherOrganization':
      case 'suspendedOrganization': {
        const elsewhere = await makeOrganization();
        const { token } = await agentIn(elsewhere, organizationScopes, 'admin');
        if (who === 'suspendedOrganization')
          await asOperator('PATCH', `/organizations/${elsewhere}`, { status: 'suspended' });
        return token;
      }
    }
  };

  const makeSignalStream = async (organizationId: string, agentId: string): Promise<string> => {
    const [row] = await t.sql<{ streamId: string }>(
      `insert into signal_streams (stream_id, organization_id, agent_id, method, status, last_polled_at, push_due_at, created_at, updated_at)
       values (gen_random_uuid(), $1, $2, 'poll', 'enabled', now(), now(), now(), now()) returning stream_id as "streamId"`,
      [organizationId, agentId],
    );
    return row?.streamId ?? assert.fail();
  };

  /** A subscription for the current plan, and a checkout for the next plan. */
  const makeBilling = async (organization_id: string) => {
    const paid = await paymentEvents.about(organization_id, {});
    const applied = await t.call('POST', '/api/v1/billing/webhooks/stripe', {
      payload: paid.body,
      headers: { 'content-type': 'application/json', 'stripe-signature': paid.signature },
    });
    assert.equal(applied.json.outcome, 'applied', applied.text);
    const target_tier = 'enterprise';
    const { checkoutUrl } = await asOperator('POST', '/billing/checkout', { target_tier, organization_id });
    const { portalUrl } = await asOperator('POST', '/billing/portal', { organization_id });
    return {
      checkoutToken: checkoutUrl.split('/').at(-1),
      portalToken: portalUrl.split('/').at(-1),
      paymentEvent: await paymentEvents.about(organization_id, { cancel_at_period_end: true }),
    };
  };
  /** By SQL: the API allows only agents of the organization to create one. */
  const makeWebhook = async (organizationId: string) => {
    const [row] = await t.sql<{ webhookId: string; deliveryId: string }>(
      `with subscription as (
         insert into webhook_subscriptions
           (subscription_id, organization_id, name, url, events, active, signing_secret, created_at, updated_at)
         values (gen_random_uuid(), $1, 'Theirs', 'https://receiver.example/hook', '{agent.created}', true, 'whsec_AA==',
                 now(), now())
         returning subscription_id)
       insert into webhook_deliveries
         (delivery_id, subscription_id, event_id, event_type, payload, status, created_at, updated_at)
       select gen_random_uuid(), subscription_id, gen_random_uuid(), 'agent.created', '{}', 'delivered', now(), now()
       from subscription returning subscription_id as "webhookId", delivery_id as "deliveryId"`,
      [organizationId],
    );
    assert.ok(row);
    return row;
  };

  /** By SQL: the API registers resources in the caller's organization. */
  const makeResource = async (organizationId: string) => {
    const granteeId = await makeAgent(organizationId, []);
    const recipientId = t.operator.organizationId;
    const resourceId = randomUUID();
    await t.sql(
      `with resource as (
         insert into resources
           (resource_id, organization_id, identifier, name, scopes, token_lifetime_seconds, claims, created_at, updated_at)
         values ($1::uuid, $2, 'https://' || $1::uuid::text || '.example', 'Orders',
                 '[{"name":"orders:read","description":null},{"name":"orders:write","description":null}]', 3600, '{}', now(), now())
         returning resource_id),
       share as (
         insert into resource_shares (resource_id, organization_id, scopes, created_at, updated_at)
         select resource_id, $4, '{orders:read}', now(), now() from resource),
       offer as (
         insert into resource_share_offers
           (resource_id, organization_id, owner_id, scopes, created_at, updated_at, announced_at)
         select resource_id, $4, $2, '{orders:write}', now(), now(), now() from resource)
       insert into resource_grants
         (agent_id, resource_id, organization_id, scopes, granted_by, created_at, updated_at)
       select $3, resource_id, $2, '{"orders:read":"2026-01-01T00:00:00.000Z"}', $3, now(), now() from resource`,
      [resourceId, organizationId, granteeId, recipientId],
    );
    return { resourceId, recipientId, granteeId };
  };

  const makeDelegation = async (organizationId: string, token: string) => {
    const outsiderId = await makeAgent(organizationId, []);
    const delegation = await t.call('POST', '/api/v1/delegations', {
      token,
      payload: { delegateeId: outsiderId, scopes: ['agents:read'] },
    });
    assert.equal(delegation.status, 201, delegation.text);
    const { chainId, delegationToken } = delegation.json;
    return { outsiderId, chainId, delegationToken };
  };

  const signIn = async (clientId: string, clientSecret: string) => {
    const answer = await createConsoleClient(t).signIn({ clientId, clientSecret });
    // An instance on plain http at a public address has no sessions.
    return { sessionCookie: answer.status === 204 ? cookieIn(answer) : 'countersign=none' };
  };

  const makePartner = async () => {
    const name = randomUUID();
    const issuer = `https://${name}.example`;
    const { id } = await asOperator('POST', '/federation/trust', { name, issuer, jwksUri: `${issuer}/jwks` });
    return { partnerId: id };
  };

  const makePolicy = async (agentId: string, changes: object = {}) => {
    const name = randomUUID();
    const { policyId } = await asOperator('POST', '/oidc/trust-policies', {
      agentId,
      name,
      provider: 'custom',
      issuer: outsideIssuer.url,
      audiences: ['http://countersign.test'],
      subject: name,
      scopes: ['agents:read'],
      ...changes,
    });
    return { policyId, outsideToken: await outsideIssuer.sign({ sub: name }) };
  };

  const exchange = async (client_id: string, subject_token: string): Promise<string> => {
    const { status, json, text } = await t.form('/api/v1/oidc/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      client_id,
      subject_token,
    });
    assert.equal(status, 200, text);
    return json.access_token;
  };

  const workloadOf: MatrixFixture['workloadOf'] = async (target) => {
    const { organizationId, agentId, policyId, outsideToken } = target;
    const scopes = [...organizationScopes, ...resourceScopes];
    await asOperator('PATCH', `/agents/${agentId}`, { allowedScopes: scopes });
    await asOperator('PATCH', `/organizations/${organizationId}/members/${agentId}`, { role: 'admin' });
    await asOperator('PATCH', `/oidc/trust-policies/${policyId}`, { scopes, actsAsAdmin: true });
    return exchange(agentId, outsideToken);
  };

  const makeListing = async (agentId: string) => {
    const listing = { agentId, title: 'Some agent', summary: 'Does something.' };
    const { listingId } = await asOperator('POST', '/marketplace/listings', listing);
    await asOperator('PATCH', `/marketplace/listings/${listingId}`, { status: 'published' });
    return { listingId };
  };

  const makePerson = async (organizationId: string, agentId: string) => {
    const [issuer, subject] = ['https://login.example.com', randomUUID()];
    const { personId } = await asOperator('POST', `/organizations/${organizationId}/people`, {
      ...{ issuer, subject, agentId },
      name: 'Grace',
      role: 'viewer',
    });
    // By SQL: there is no provider here.
    const secret = randomBytes(32).toString('base64url');
    await t.sql(
      `insert into provider_sign_ins (sign_in_hash, return_to, expires_at, answered_at, issuer, subject)
       values (sha256(convert_to($1, 'UTF8')), '/console', now() + interval '1 day', now(), $2, $3)`,
      [secret, issuer, subject],
    );
    return { personId, signInCookie: `countersign-sign-in=${secret}` };
  };

  /** A viewer, who may lend what the agent may read of our own API, has a session, one consent, and two requests that wait. */
  const makeConsent = async (organizationId: string, agentId: string, clientSecret: string) => {
    const { personId } = await makePerson(organizationId, agentId);
    const secret = randomBytes(32).toString('base64url');
    // By SQL: there is no provider here.
    await t.sql(
      `insert into console_sessions (session_id, secret_hash, method, agent_id, organization_id, person_id, scopes,
         created_at, last_used_at, expires_at)
       values ($1, sha256(convert_to($2, 'UTF8')), 'oidc', $3, $4, $5, '{}', now(), now(), now() + interval '8 hours')`,
      [randomUUID(), secret, agentId, organizationId, personId],
    );
    const redirectUri = 'https://app.example/callback';
    const client = newAgent({
      organization_id: organizationId,
      redirectUris: [redirectUri],
      allowedScopes: [],
    });
    const { agentId: requestClientId } = await asOperator('POST', '/agents', client);
    const { issuer } = (await t.call('GET', '/.well-known/oauth-authorization-server')).json;
    const parameters = new URLSearchParams({
      ...{ response_type: 'code', client_id: requestClientId, resource: issuer },
      ...{ code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' },
    });
    const begin = async (cookie: string) => {
      const { headers } = await t.call('GET', `/api/v1/authorize?${parameters}`, { headers: { cookie } });
      const [browser] = String(headers['set-cookie']).split(';');
      return {
        requestId: String(headers.location).split('/').at(-1),
        cookie: `countersign=${secret}; ${browser}`,
      };
    };
    const first = await begin(`countersign=${secret}`);
    await t.call('POST', `/console/api/authorization-requests/${first.requestId}`, {
      payload: { decision: 'approve' },
      headers: { cookie: first.cookie, 'sec-fetch-site': 'same-origin', 'x-countersign-console': '1' },
    });
    const [consent] = await t.sql<{ chain_id: string }>(
      'select chain_id from delegations where subject_id = $1',
      [personId],
    );
    const { requestId } = await begin(first.cookie);
    const asked = await t.form('/api/v1/bc-authorize', {
      ...{ client_id: agentId, client_secret: clientSecret },
      ...{ resource: issuer, scope: 'agents:read', login_hint: personId },
    });
    return {
      ...{ requestId, requestClientId, personCookie: first.cookie },
      ...{ consentId: consent?.chain_id, approvalId: asked.json.approval_id },
    };
  };

  /** The provider's port refuses connections. */
  const makeConnection = async (organizationId: string) => {
    const { connectionId } = await asOperator('POST', `/organizations/${organizationId}/connections`, {
      name: 'Login',
      issuer: 'http://127.0.0.1:9',
      clientId: randomUUID(),
      clientSecret: 'a secret',
    });
    const testerId = await makeAgent(organizationId, []);
    await asOperator('POST', `/organizations/${organizationId}/members`, {
      agentId: testerId,
      role: 'admin',
    });
    const { clientSecret } = await asOperator('POST', `/agents/${testerId}/credentials`);
    const { sessionCookie } = await signIn(testerId, clientSecret);
    const secret = randomBytes(32).toString('base64url');
    await t.sql(
      `insert into provider_sign_ins (sign_in_hash, return_to, expires_at, answered_at, connection_id, tester_id, claims)
       values (sha256(convert_to($1, 'UTF8')), '/console', now() + interval '1 day', now(), $2, $3, '{}')`,
      [secret, connectionId, testerId],
    );
    return { connectionId, testerCookie: `${sessionCookie}; countersign-sign-in=${secret}` };
  };

  const findEvent = async (agentId: string) => {
    const { data } = await asOperator('GET', `/audit?agentId=${agentId}&limit=1`);
    return { eventId: data[0].eventId };
  };

  const makeTarget: MatrixFixture['makeTarget'] = async (...fields) => {
    const organizationId = await makeOrganization();
    const agentId = await makeAgent(organizationId, ['agents:read']);
    await asOperator('POST', `/organizations/${organizationId}/members`, { agentId, role: 'member' });
    const credential = await asOperator('POST', `/agents/${agentId}/credentials`);
    const { credentialId, clientSecret } = credential;
    const token = await t.token(undefined, credential);
    const needs = (...of: (keyof Target)[]) =>
      fields.length === 0 || of.some((field) => fields.includes(field));
    const { issuer } = (await t.call('GET', '/.well-known/oauth-authorization-server')).json;
    return {
      ...{ issuer, organizationId, agentId, credentialId, clientSecret, token, colleagueId },
      ...(needs('personId', 'signInCookie') && (await makePerson(organizationId, agentId))),
      ...(needs('requestId', 'requestClientId', 'personCookie', 'consentId', 'approvalId') &&
        (await makeConsent(organizationId, agentId, clientSecret))),
      ...(needs('connectionId', 'testerCookie') && (await makeConnection(organizationId))),
      ...(needs('sessionCookie') && (await signIn(agentId, clientSecret))),
      ...(needs('eventId') && (await findEvent(agentId))),
      ...(needs('outsiderId', 'chainId', 'delegationToken') && (await makeDelegation(organizationId, token))),
      ...(needs('partnerId') && (await makePartner())),
      ...(needs('policyId', 'outsideToken') && (await makePolicy(agentId))),
      ...(needs('listingId') && (await makeListing(agentId))),
      ...(needs('checkoutToken', 'portalToken', 'paymentEvent') && (await makeBilling(organizationId))),
      ...(needs('webhookId', 'deliveryId') && (await makeWebhook(organizationId))),
      ...(needs('streamId') && { streamId: await makeSignalStream(organizationId, agentId) }),
      ...(needs('resourceId', 'recipientId', 'granteeId') && (await makeResource(organizationId))),
    } as Target;
  };

  return { operatorToken, paymentEvents, makeTarget, tokenOf, workloadOf, agentIn };
}

/** The fields of the target that a request is made of. */
export function fieldsOf(request: (target: Target) => TestRequest, target: Target): (keyof Target)[] {
  const fields = new Set<keyof Target>();
  const get = (of: Target, field: keyof Target) => {
    fields.add(field);
    return of[field];
  };
  request(new Proxy(target, { get } as ProxyHandler<Target>));
  return [...fields, 'organizationId'];
}

export function send(
  t: TestApp,
  { method, url, payload, form, headers: own, stream }: TestRequest,
  token: string | undefined,
  { headers, ...options }: Omit<InjectOptions, 'method' | 'url' | 'payload'> = {},
): Promise<Answer> {
  if (stream)
    return beginStream(t, {
      ...options,
      method,
      url,
      headers: { ...headers, ...own, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    });
  return t.call(method, url, {
    ...options,
    headers: { ...headers, ...own, ...(form && { 'content-type': 'application/x-www-form-urlencoded' }) },
    ...(token !== undefined && { token }),
    ...(payload && { payload }),
    ...(form && { payload: new URLSearchParams(form).toString() }),
  });
}

/** The first chunk of a successful response, which is then cut off; all of any other. */
async function beginStream({ app }: TestApp, options: InjectOptions): Promise<Answer> {
  const response = await app.http.server.inject({ ...options, payloadAsStream: true });
  const body = response.stream();
  let read = '';
  if (response.statusCode === 200) {
    [read] = (await once(body, 'data')).map(String) as [string];
    body.on('error', () => {});
    response.raw.res.destroy();
  } else read = await text(body);
  return {
    status: response.statusCode,
    headers: response.headers,
    text: read,
    get json() {
      return JSON.parse(read);
    },
  };
}
