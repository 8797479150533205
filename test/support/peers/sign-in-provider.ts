/** A real OpenID provider on loopback for people who sign in to the console: its page asks for a login, and every login is known. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';
import { decodeJwt, exportJWK, SignJWT } from 'jose';
import { type IdJagClient, idJagClientMetadata, registerIdJagGrant } from './id-jag-grant.ts';

export interface SignInProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Another client, which exchanges ID tokens for identity assertions. */
  readonly assistant: IdJagClient;
  /** The variables of an instance that uses it. */
  readonly variables: Readonly<Record<string, string>>;
  /** Further claims by login, such as `email`, `email_verified`, `name` and `groups`; those of the scopes that a client asks for. */
  accounts: Record<string, Readonly<Record<string, unknown>>>;
  /** Changes the claims of the next ID tokens, which are then signed with this key or the provider's own. */
  tamper: { claims: Record<string, unknown>; key?: KeyObject } | undefined;
  /** Answers all requests while it is set. */
  handlerOverride: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  /** Answers requests below this path with 503 while it is set. */
  failingPath: string | undefined;
  /** Lifetime of authorization codes, in seconds. */
  codeSeconds: number;
  /** Starts again with the callback of the instance at this address. */
  acceptRedirectsTo(baseUrl: string): void;
}

const loginPage = `<!doctype html><html lang="en"><head><title>Example Login</title></head><body>
<form method="post"><label>Login <input name="login"></label> <button name="answer" value="yes">Continue</button>
<button name="answer" value="no">Refuse</button></form></body></html>`;

/** On 127.0.0.2 it is another site than the instance under test is for a browser. */
export async function startSignInProvider(
  redirectUris: string[] = [],
  host = '127.0.0.1',
): Promise<SignInProvider> {
  const { Provider } = await import('oidc-provider');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  let answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) =>
    void response.end();
  const server = createServer((request, response) => answer(request, response));
  server.listen(0, host);
  await once(server, 'listening');
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://${host}:${(server.address() as AddressInfo).port}`;
  const [clientId, clientSecret] = ['console', 'secret of the console'];
  const assistant: IdJagClient = {
    clientId: 'assistant',
    clientSecret: 'secret of the assistant',
    redirectUri: 'https://assistant.example/callback',
    knownAs: {},
  };
  const createProvider = async (redirect_uris: string[]) => {
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uris,
          grant_types: ['authorization_code'],
          response_types: ['code'],
        },
        idJagClientMetadata(assistant),
      ],
      jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'own' } as never] },
      cookies: { keys: ['a key of the test'] },
      pkce: { required: () => true },
      ttl: { AuthorizationCode: () => self.codeSeconds },
      features: { devInteractions: { enabled: false } },
      claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'], profile: ['name'] },
      conformIdTokenClaims: false,
      findAccount: (_, accountId) => ({
        accountId,
        claims: () => ({ ...self.accounts[accountId], sub: accountId }),
      }),
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      // Consent is given with the login.
      async loadExistingGrant({ oidc }) {
        const grant = new oidc.provider.Grant({
          clientId: oidc.client?.clientId as string,
          accountId: oidc.session?.accountId as string,
        });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
    });
    registerIdJagGrant(provider, assistant, privateKey);
    provider.use(async (context, next) => {
      await next();
      const { body } = context as { body: { id_token?: string } };
      if (context.path !== '/token' || !self.tamper || !body.id_token) return;
      const { claims, key = privateKey } = self.tamper;
      const changed = JSON.parse(JSON.stringify({ ...decodeJwt(body.id_token), ...claims }));
      body.id_token = await new SignJWT(changed).setProtectedHeader({ alg: 'RS256', kid: 'own' }).sign(key);
    });
    return provider;
  };

  const interact = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === 'GET')
      return response.setHeader('content-type', 'text/html; charset=utf-8').end(loginPage);
    const form = new URLSearchParams(await text(request));
    const result =
      form.get('answer') === 'no'
        ? { error: 'access_denied', error_description: 'The person refused.' }
        : { login: { accountId: form.get('login') ?? '' } };
    return (await provider).interactionFinished(request, response, result);
  };
  answer = (request, response) => {
    if (self.handlerOverride) return self.handlerOverride(request, response);
    if (self.failingPath && request.url?.startsWith(self.failingPath))
      return void response.writeHead(503).end();
    if (request.url?.startsWith('/interaction/'))
      return void interact(request, response).catch((error) => response.writeHead(500).end(String(error)));
    return void provider.then((current) => current.callback()(request, response));
  };
  const self: SignInProvider = {
    issuer,
    clientId,
    clientSecret,
    assistant,
    variables: {
      CONSOLE_OIDC_ISSUER: issuer,
      CONSOLE_OIDC_CLIENT_ID: clientId,
      CONSOLE_OIDC_CLIENT_SECRET: clientSecret,
      CONSOLE_OIDC_NAME: 'Example Login',
    },
    accounts: {},
    tamper: undefined,
    handlerOverride: undefined,
    failingPath: undefined,
    codeSeconds: 60,
    acceptRedirectsTo(baseUrl) {
      provider = createProvider([`${baseUrl}/console/api/oidc/callback`]);
    },
  };
  let provider = createProvider(redirectUris);
  return self;
}
