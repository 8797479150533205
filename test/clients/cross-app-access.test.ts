/**
 * Enterprise-managed authorization by independent programs: a person signs in to an application at a real provider (oidc-provider), which
 * gives the application an identity assertion (ID-JAG), with which the MCP SDK and ours call the company's MCP server.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  Client,
  CrossAppAccessProvider,
  discoverAndRequestJwtAuthGrant,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import * as openid from 'openid-client';
import { createResourceClient, requestIdJag } from '../../sdk/typescript/src/sdk.ts';
import { listenForPeople } from '../support/clients/listening.ts';
import { startToolServer } from '../support/peers/tool-server.ts';

const scenario = await listenForPeople({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { t, issuer, provider, operate, organizationId, connection, member, newBrowser } = scenario;
const toolServer = await startToolServer(scenario);
const { assistant } = provider;
const agent = await t.agent();
assistant.knownAs[issuer] = agent.clientId;

const setIdJag = (idJag: boolean) =>
  operate('PATCH', `/organizations/${organizationId}/connections/${connection.connectionId}`, { idJag });

/** The person signs in to the application; resolves to its ID token. */
async function signIn(login: string): Promise<string> {
  const config = await openid.discovery(
    new URL(provider.issuer),
    assistant.clientId,
    undefined,
    openid.ClientSecretPost(assistant.clientSecret),
    { execute: [openid.allowInsecureRequests] },
  );
  const verifier = openid.randomPKCECodeVerifier();
  const address = openid.buildAuthorizationUrl(config, {
    redirect_uri: assistant.redirectUri,
    scope: 'openid',
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  const browser = newBrowser();
  const page = await browser.visit(address);
  const form = { login, answer: 'yes' };
  const back = await browser.visit(page.url, { method: 'POST', form, stopAt: '/callback' });
  const tokens = await openid.authorizationCodeGrant(config, new URL(String(back.location)), {
    pkceCodeVerifier: verifier,
  });
  return String(tokens.id_token);
}

type Fetch = NonNullable<ConstructorParameters<typeof StreamableHTTPClientTransport>[1]>;

/** The claims of the token with which the tool was called. */
async function callTool(options: Fetch, name = 'list_orders') {
  const client = new Client({ name: 'assistant', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(toolServer.url, options));
  try {
    const { content } = await client.callTool({ name });
    return JSON.parse((content as unknown as [{ text: string }])[0].text) as Record<string, unknown>;
  } finally {
    await client.close();
  }
}

const ways: Record<string, (idToken: string) => Fetch> = {
  'the cross-app-access provider of the MCP SDK': (idToken) => ({
    authProvider: new CrossAppAccessProvider({
      assertion: async ({ authorizationServerUrl, resourceUrl, scope, fetchFn }) => {
        const { jwtAuthGrant } = await discoverAndRequestJwtAuthGrant({
          idpUrl: provider.issuer,
          audience: authorizationServerUrl,
          resource: resourceUrl,
          idToken,
          clientId: assistant.clientId,
          clientSecret: assistant.clientSecret,
          ...(scope !== undefined && { scope }),
          fetchFn,
        });
        return jwtAuthGrant;
      },
      clientId: agent.clientId,
      clientSecret: agent.clientSecret,
      expectedIssuer: issuer,
    }),
  }),
  ...Object.fromEntries(
    [false, true].map((dpop) => [
      `our SDK${dpop ? ' with DPoP' : ''}`,
      (idToken: string) => ({
        fetch: createResourceClient({
          url: toolServer.url.href,
          issuers: [issuer],
          dpop,
          grant: {
            clientId: agent.clientId,
            auth: agent.clientSecret,
            idJag: (target) =>
              requestIdJag({
                ...target,
                issuer: provider.issuer,
                clientId: assistant.clientId,
                auth: assistant.clientSecret,
                subjectToken: idToken,
              }),
          },
        }).fetch,
      }),
    ]),
  ),
};

describe('enterprise-managed authorization with oidc-provider', () => {
  for (const [what, optionsFor] of Object.entries(ways))
    it(`${what}: the agent acts for the person who signed in, and for no one while the connection does not accept assertions`, async () => {
      await setIdJag(true);
      const { login, personId } = await member();
      const idToken = await signIn(login);
      const { sub, sub_profile, client_id, act, scope } = await callTool(optionsFor(idToken));
      assert.deepEqual(
        { sub, sub_profile, client_id, act },
        {
          sub: personId,
          sub_profile: 'person',
          client_id: agent.agentId,
          act: { sub: agent.agentId, sub_profile: 'ai_agent' },
        },
      );
      assert.match(String(scope), /orders:read/);
      await setIdJag(false);
      await assert.rejects(callTool(optionsFor(idToken)), /invalid_grant|not one that is accepted here/i);
    });
});
