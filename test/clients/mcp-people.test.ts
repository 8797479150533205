/** The official MCP SDK, both of its versions, in front of a person: discovery from a 401, sign-in, consent, a tool call, refresh, step-up. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import * as second from '@modelcontextprotocol/client';
import * as first from '@modelcontextprotocol/sdk/client/auth.js';
import * as firstExtensions from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { decodeJwt, exportJWK } from 'jose';
import { listenForPeople } from '../support/clients/listening.ts';
import { createHost as createHostFor, type Host, type Known } from '../support/clients/mcp-host.ts';
import { startToolServer } from '../support/peers/tool-server.ts';

const scenario = await listenForPeople();
const { t, issuer, newBrowser, logIn, requestIdIn, decide, isActive, refresh } = scenario;
const toolServer = await startToolServer(scenario);
const loopback = 'http://127.0.0.1:33418/callback';
const createHost = (known: Known) => createHostFor(issuer, known);

/** What both versions of the SDK can do. */
interface Sdk {
  connect(host: Host): {
    readonly start: () => Promise<void>;
    readonly call: (name: string) => Promise<unknown>;
    readonly finish: (answer: URLSearchParams) => Promise<void>;
    readonly close: () => Promise<void>;
  };
  /** `auth` by itself. */
  authorize(host: Host): Promise<string>;
  readonly Unauthorized: new () => Error;
  readonly privateKeyJwt: typeof firstExtensions.createPrivateKeyJwtAuth;
}

const sdks: Record<string, Sdk> = {
  'version 1': {
    connect(host) {
      const client = new FirstClient({ name: 'host', version: '1.0.0' });
      const transport = new FirstTransport(toolServer.url, { authProvider: host });
      return {
        start: () => client.connect(transport as Parameters<FirstClient['connect']>[0]),
        call: async (name) => textIn(await client.callTool({ name })),
        finish: (answer) => transport.finishAuth(String(answer.get('code'))),
        close: () => client.close(),
      };
    },
    authorize: (host) => first.auth(host, { serverUrl: toolServer.url }),
    Unauthorized: first.UnauthorizedError,
    privateKeyJwt: firstExtensions.createPrivateKeyJwtAuth,
  },
  'version 2': {
    connect(host) {
      const client = new second.Client({ name: 'host', version: '1.0.0' });
      const transport = new second.StreamableHTTPClientTransport(toolServer.url, { authProvider: host });
      return {
        start: () => client.connect(transport),
        call: async (name) => textIn(await client.callTool({ name })),
        // It compares `iss` with the issuer of the metadata (RFC 9207).
        finish: (answer) => transport.finishAuth(answer),
        close: () => client.close(),
      };
    },
    authorize: (host) => second.auth(host, { serverUrl: toolServer.url }),
    Unauthorized: second.UnauthorizedError,
    privateKeyJwt: second.createPrivateKeyJwtAuth,
  },
};

const textIn = ({ content }: Record<string, unknown>) => JSON.parse((content as [{ text: string }])[0].text);

const keyPair = async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid: 'host', alg: 'ES256' } };
};
const assertions = (sdk: Sdk, clientId: string, privateKey: KeyObject) =>
  sdk.privateKeyJwt({
    issuer: clientId,
    subject: clientId,
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    alg: 'ES256',
  });

const documentOnLoopback = () =>
  scenario.documentClient({ redirect_uris: ['http://127.0.0.1/callback'] }).clientId;

const hosts: Record<string, (sdk: Sdk) => Promise<Host>> = {
  'a registered public client on loopback': async () => {
    const { clientId } = await scenario.publicClient('http://127.0.0.1/callback');
    return createHost({ redirectUrl: loopback, client: { client_id: clientId } });
  },
  'a registered client with a secret': async () => {
    const { credentials, redirectUri } = await scenario.confidential();
    const { client_id = '', client_secret = '' } = credentials;
    return createHost({ redirectUrl: redirectUri, client: { client_id, client_secret } });
  },
  'a registered client with a key': async (sdk) => {
    const { privateKey, jwk } = await keyPair();
    const { clientId, redirectUri } = await scenario.confidential();
    await scenario.operate('PUT', `/agents/${clientId}/keys`, { keys: [jwk] });
    const addClientAuthentication = assertions(sdk, clientId, privateKey);
    return createHost({ redirectUrl: redirectUri, client: { client_id: clientId }, addClientAuthentication });
  },
  'a client with a metadata document, on loopback': async () => {
    return createHost({ redirectUrl: loopback, clientMetadataUrl: documentOnLoopback() });
  },
  'a client with a metadata document and a key': async (sdk) => {
    const { privateKey, jwk } = await keyPair();
    const { clientId, redirectUri } = scenario.documentClient({
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [jwk] },
    });
    const addClientAuthentication = assertions(sdk, clientId, privateKey);
    return createHost({ redirectUrl: redirectUri, clientMetadataUrl: clientId, addClientAuthentication });
  },
};

/** A new person signs in at the company's provider, and agrees. */
async function agreeAtFirst({ address }: Host) {
  const browser = newBrowser();
  const done = await logIn(browser, String(address), `person-${randomUUID()}`);
  const requestId = requestIdIn(done.location);
  const { person } = (await browser.request(scenario.pathOf(requestId))).json;
  const { json } = await decide(browser, requestId);
  return { browser, personId: person.personId as string, location: String(json.redirectTo) };
}

/** The host gives the SDK only answers to its own requests. */
function answerTo({ sent, redirectUrl }: Host, location: string): URLSearchParams {
  assert.ok(location.startsWith(String(redirectUrl)), location);
  const { searchParams } = new URL(location);
  assert.deepEqual([searchParams.get('state'), searchParams.get('iss')], [sent, issuer]);
  return searchParams;
}

/** From the address of the tool server to a client that calls its tools for a person. */
async function signIn(sdk: Sdk, host: Host) {
  const unknown = sdk.connect(host);
  await assert.rejects(unknown.start(), sdk.Unauthorized);
  const { location, ...person } = await agreeAtFirst(host);
  await unknown.finish(answerTo(host, location));
  const client = sdk.connect(host);
  await client.start();
  return { client, ...person };
}

const tokensOf = async (host: Host) => {
  const tokens = await host.tokens();
  assert.ok(tokens?.access_token && tokens.refresh_token);
  return { access: tokens.access_token, refresh: tokens.refresh_token, scope: tokens.scope };
};

for (const [version, sdk] of Object.entries(sdks))
  describe(`the MCP SDK, ${version}`, () => {
    for (const [kind, make] of Object.entries(hosts))
      it(`${kind}: discovery, sign-in, consent, a tool call, refresh`, async () => {
        const host = await make(sdk);
        const { client, personId } = await signIn(sdk, host);
        const claims = (await client.call('list_orders')) as Record<string, unknown>;
        assert.deepEqual(
          [claims.sub, claims.sub_profile, claims.scope, claims.aud, claims.act],
          [
            personId,
            'person',
            'orders:read',
            toolServer.url.href,
            { sub: claims.client_id, sub_profile: 'ai_agent' },
          ],
        );
        assert.equal(claims.client_uri, host.clientMetadataUrl);
        const before = await tokensOf(host);
        // The tool server refuses the token from now on, and the SDK takes another by its refresh token.
        await t.form('/api/v1/token/revoke', { token: before.access }, await t.token());
        const again = (await client.call('list_orders')) as Record<string, unknown>;
        const after = await tokensOf(host);
        assert.notEqual(after.refresh, before.refresh);
        assert.deepEqual([again.sub, again.chain_id], [personId, claims.chain_id]);
        assert.equal(await sdk.authorize(host), 'AUTHORIZED');
        assert.notEqual((await tokensOf(host)).refresh, after.refresh);
        await client.close();
      });

    it('asks the person again after the person has ended the chain', async () => {
      const host = createHost({ redirectUrl: loopback, clientMetadataUrl: documentOnLoopback() });
      const { client, browser } = await signIn(sdk, host);
      const { access } = await tokensOf(host);
      const path = `/console/api/me/delegations/${decodeJwt(access).chain_id}`;
      assert.equal((await browser.change('DELETE', path)).status, 204);
      host.address = undefined;
      await assert.rejects(client.call('list_orders'), sdk.Unauthorized);
      assert.ok(host.address);
      await client.close();
    });
  });

describe('step-up', () => {
  it('403 insufficient_scope: the SDK comes back with both scopes; a new chain begins, and the old one stays', async () => {
    const sdk = sdks['version 2'] as Sdk;
    const registered = await scenario.publicClient('http://127.0.0.1/callback');
    const host = createHost({ redirectUrl: loopback, client: { client_id: registered.clientId } });
    const { client, browser } = await signIn(sdk, host);
    const before = await tokensOf(host);
    assert.equal(before.scope, 'orders:read');
    await assert.rejects(client.call('create_order'), sdk.Unauthorized);
    assert.equal(host.address?.searchParams.get('scope'), 'orders:read orders:write');
    await client.finish(answerTo(host, await scenario.agree(browser, String(host.address))));
    const claims = (await client.call('create_order')) as Record<string, unknown>;
    assert.equal(claims.scope, 'orders:read orders:write');
    assert.notEqual(claims.chain_id, decodeJwt(before.access).chain_id);
    assert.equal(await isActive(before.access), true);
    assert.equal((await refresh(registered, before.refresh)).status, 200);
    await client.close();
  });
});
