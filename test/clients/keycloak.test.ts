/** Keycloak as the provider of a company, set up as docs/guides/connections/keycloak.md says: sign-in, conditions, consent, a person's token. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { identityOf } from '../../src/commands/client/import/keycloak/identity.ts';
import { createLeftOut } from '../../src/commands/client/import/keycloak/left-out.ts';
import { readRealm } from '../../src/commands/client/import/keycloak/realm.ts';
import type { TestBrowser } from '../support/clients/browser.ts';
import { skipWithout } from '../support/harness.ts';
import { startKeycloak } from '../support/peers/keycloak.ts';
import { baseUrl, createAuthorizationScenario } from '../support/scenarios/authorization.ts';
import { keycloakApis, keycloakRealm } from '../support/scenarios/keycloak-realm.ts';
import { callback } from '../support/scenarios/people.ts';

const clientSecret = 'the secret of the client';
const passwordOf = (username: string) => `the password of ${username}`;
const user = (username: string, lastName: string, groups: string[]) => ({
  username,
  lastName,
  groups,
  firstName: username,
  email: `${username}@company.example`,
  emailVerified: true,
  enabled: true,
  credentials: [{ type: 'password', value: passwordOf(username), temporary: false }],
});
const realm = {
  realm: 'company',
  enabled: true,
  groups: [{ name: 'agents' }],
  users: [
    user('ada', 'Lovelace', ['/agents']),
    user('grace', 'Hopper', ['/agents']),
    user('eve', 'Other', []),
  ],
  clients: [
    {
      clientId: 'countersign',
      secret: clientSecret,
      publicClient: false,
      standardFlowEnabled: true,
      directAccessGrantsEnabled: false,
      redirectUris: [baseUrl + callback],
      protocolMappers: [
        {
          name: 'groups',
          protocol: 'openid-connect',
          protocolMapper: 'oidc-group-membership-mapper',
          config: { 'claim.name': 'groups', 'full.path': 'true', 'id.token.claim': 'true' },
        },
      ],
    },
  ],
};
const [keycloak, scenario] = await Promise.all([startKeycloak(realm), createAuthorizationScenario()]);
const { t, organizationId, operate, newBrowser, newRequest, requestIdIn, decide, answerIn } = scenario;
const connections = `/organizations/${organizationId}/connections`;
await operate('DELETE', `${connections}/${scenario.connection.connectionId}`);
const { connectionId } = await operate('POST', connections, {
  name: 'Keycloak',
  issuer: keycloak?.issuer ?? 'https://keycloak.example',
  clientId: 'countersign',
  clientSecret,
  conditions: [{ claim: 'groups', operator: 'equals', values: ['/agents'] }],
});
const client = await scenario.confidential();
const resource = await scenario.makeResource({ claims: ['personSubject', 'personEmail'] });
const asks = (more: Record<string, string> = {}) =>
  newRequest(client, { resource: resource.identifier, ...more });

/** A test that is skipped, visibly, without Keycloak. */
const withKeycloak = (name: string, work: (issuer: string) => Promise<void>) =>
  it(name, (context) =>
    keycloak ? work(keycloak.issuer) : skipWithout(context, 'Keycloak (scripts/keycloak-for-tests.sh)'),
  );

/** The next page of a browser that follows a request or a sign-in: that of Keycloak, or its answer to the callback. */
const follow = async (browser: TestBrowser, address: string) => {
  const begun = await browser.request(address, { headers: { 'sec-fetch-site': 'none' } });
  return browser.visit(begun.location ?? '', { stopAt: callback });
};

/** Fills in the form of Keycloak; returns the answer to the callback. */
async function logIn(browser: TestBrowser, page: Awaited<ReturnType<typeof follow>>, username: string) {
  assert.equal(page.status, 200, page.text);
  const back = await browser.submit(page, { username, password: passwordOf(username) }, { stopAt: callback });
  assert.ok(back.location?.includes(callback), `${back.status} ${back.text}`);
  return browser.request(back.location as string);
}

describe('Keycloak as a connection', () => {
  withKeycloak(
    'a person of the realm signs in and agrees; the token is of the person, by the agent',
    async (issuer) => {
      const browser = newBrowser();
      const request = asks({ login_hint: 'ada' });
      const page = await follow(browser, request.url);
      assert.ok(page.url.href.startsWith(issuer), page.url.href);
      assert.match(page.text, /<input[^>]* value="ada"/, 'login_hint fills in the name');
      const { location } = await logIn(browser, page, 'ada');
      const requestId = requestIdIn(location);
      const { person } = (await browser.request(scenario.pathOf(requestId))).json;
      assert.deepEqual([person.name, person.email], ['ada Lovelace', 'ada@company.example']);
      const { code } = answerIn((await decide(browser, requestId)).json.redirectTo);
      const { status, json } = await scenario.exchange(request, String(code));
      assert.equal(status, 200, JSON.stringify(json));
      const claims = decodeJwt(json.access_token);
      assert.deepEqual(
        [claims.sub, claims.sub_profile, claims.act, claims.aud, claims.person_iss, claims.person_email],
        [
          ...[person.personId, 'person', { sub: client.agentId, sub_profile: 'ai_agent' }],
          ...[resource.identifier, issuer, 'ada@company.example'],
        ],
      );
      const [stored] = (await operate('GET', `/organizations/${organizationId}/people`)).data;
      assert.deepEqual([stored.subject, stored.connectionId], [claims.person_sub, connectionId]);
      assert.equal(await scenario.isActive(json.access_token), true);

      // With a session at Keycloak it asks again only if the client, or another person, wants it.
      await browser.change('DELETE', '/console/api/session');
      const silent = await follow(browser, asks({ prompt: 'consent' }).url);
      assert.ok(silent.location?.includes(callback), `${silent.status} ${silent.text}`);
      const again = await follow(browser, asks({ prompt: 'login consent' }).url);
      const confirmed = requestIdIn((await logIn(browser, again, 'ada')).location);
      assert.equal((await browser.request(scenario.pathOf(confirmed))).status, 200);
      const other = await browser.visit(`${scenario.startOf(connectionId)}&prompt=select_account`);
      // The page is for the account of the session; its button "Restart login" ends that session.
      const [, restart = ''] = /location\.href='([^']*\/restart[^']*)'/.exec(other.text) ?? [];
      const restarted = await browser.visit(new URL(restart.replaceAll('&amp;', '&'), other.url));
      assert.equal((await logIn(browser, restarted, 'grace')).location, '/console');
      const session = await browser.request('/console/api/session');
      assert.equal(session.json.person.name, 'grace Hopper');
    },
  );

  withKeycloak('a person who does not meet the conditions is refused', async () => {
    const browser = newBrowser();
    const { location = '' } = await logIn(browser, await follow(browser, asks().url), 'eve');
    assert.match(location, /^\/console\/sign-in\?error=conditions_not_met/);
    const people = await operate('GET', `/organizations/${organizationId}/people`);
    assert.ok(!JSON.stringify(people.data).includes('eve'));
    const [refused] = await t.sql<{ metadata: Record<string, unknown> }>(
      "select metadata from audit_events where action = 'session.refused' and organization_id = $1",
      [organizationId],
    );
    assert.deepEqual(refused?.metadata.failed, ['condition groups equals']);
  });
});

/** Of the realm of the import's own tests, in an order of its own. */
function importOf(text: string) {
  const leftOut = createLeftOut();
  const { agents, resources, grants } = identityOf(
    readRealm(text, undefined),
    {
      emailDomain: 'agents.shop.example',
      owner: 'platform',
      deploymentEnv: 'production',
      apis: keycloakApis,
      only: undefined,
      without: new Set(),
    },
    leftOut,
  );
  const sorted = (things: readonly object[]) => things.map((thing) => JSON.stringify(thing)).sort();
  return {
    agents: sorted(agents),
    grants: sorted(grants),
    resources: sorted(
      resources.map((resource) => ({
        ...resource,
        scopes: sorted(resource.scopes.map((scope) => ({ scope }))),
      })),
    ),
  };
}

it('an export of Keycloak is imported as the realm that it was made of', async (context) => {
  if (!keycloak) return skipWithout(context, 'Keycloak (scripts/keycloak-for-tests.sh)');
  await keycloak.addRealm(keycloakRealm);
  const text = await keycloak.exportRealm(keycloakRealm.realm);
  assert.deepEqual(importOf(text), importOf(JSON.stringify(keycloakRealm)));
});
