import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { type Row, runsTests, sameForAll } from '../../../test/matrix/matrix-rows.ts';
import { createAuthorizationScenario } from '../../../test/support/scenarios/authorization.ts';

const url = '/console/api/me/delegations';
const fromPage = { 'sec-fetch-site': 'same-origin', 'x-countersign-console': '1' };

export const access: Record<string, Row> = {
  // The session cookie alone counts; an access token is ignored.
  listOwnConsents: {
    request: ({ personCookie: cookie }) => ({ method: 'GET', url, headers: { cookie } }),
    answers: sameForAll('200'),
  },
  revokeOwnConsent: {
    request: ({ personCookie: cookie, consentId }) => ({
      method: 'DELETE',
      url: `${url}/${consentId}`,
      headers: { ...fromPage, cookie },
    }),
    answers: sameForAll('204'),
  },
};

if (runsTests(import.meta))
  describe('my agents', async () => {
    const scenario = await createAuthorizationScenario();
    const { t, confidential, documentClient, granted, member, isActive } = scenario;

    it('200 with the consents of the person only, newest first, and by status', async () => {
      const client = await confidential();
      const { email } = await scenario.operate('PATCH', `/agents/${client.agentId}`, { displayName: 'Ada' });
      const { browser, request, tokens } = await granted(client, { scope: 'orders:read' });
      await granted(client);
      const other = scenario.newRequest(documentClient());
      await scenario.exchange(other, await scenario.consent(browser, other));
      const { json } = await browser.request(url);
      assert.equal(json.total, 2);
      const [newest, oldest] = json.data;
      assert.deepEqual(
        [newest.clientUri, newest.resourceName, newest.effectiveScopes],
        [other.client.clientId, 'Orders', ['orders:read', 'orders:write']],
      );
      assert.deepEqual(
        [oldest.clientUri, oldest.delegateeId, oldest.scopes],
        [null, client.agentId, ['orders:read']],
      );
      assert.ok(oldest.lastUsedAt);
      assert.equal(oldest.agentName, email);
      assert.equal((await browser.change('DELETE', `${url}/${oldest.chainId}`)).status, 204);
      assert.equal(await isActive(tokens.access_token), false);
      assert.equal((await browser.request(url)).json.total, 1);
      assert.equal((await browser.request(`${url}?status=revoked`)).json.total, 1);
      const [event] = await t.sql<{ metadata: { reason: string } }>(
        "select metadata from audit_events where action = 'consent.revoked' and agent_id = $1",
        [client.agentId],
      );
      assert.equal(event?.metadata.reason, 'by the person');
      assert.equal(request.client, client);
    });

    it("404 DELEGATION_NOT_FOUND for another person's chain, 403 without a person, 401 without a session", async () => {
      const client = await confidential();
      const { browser, tokens } = await granted(client);
      const [{ chainId }] = (await browser.request(url)).json.data;
      const stranger = await member();
      for (const id of [chainId, randomUUID()])
        assert.equal(
          (await stranger.browser.change('DELETE', `${url}/${id}`)).json.code,
          'DELEGATION_NOT_FOUND',
        );
      assert.equal(await isActive(tokens.access_token), true);
      const agent = await t.agent();
      const { agentId: clientId, clientSecret } = agent;
      const session = scenario.newBrowser();
      await session.change('POST', '/console/api/session', { clientId, clientSecret });
      assert.equal((await session.request(url)).json.code, 'FORBIDDEN');
      assert.equal((await session.change('DELETE', `${url}/${chainId}`)).json.code, 'FORBIDDEN');
      assert.equal((await scenario.newBrowser().request(url)).json.code, 'UNAUTHORIZED');
    });
  });
