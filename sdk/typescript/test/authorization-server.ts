/** An independent authorization server (oidc-provider) with a public client on loopback, and a browser whose person agrees or refuses. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';

export const clientId = 'cli';
export const resource = 'https://orders.example.com';

export async function startAuthorizationServer() {
  const { Provider } = await import('oidc-provider');
  const server = createServer((request, response) => handle(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close().closeAllConnections());
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const person = { agrees: true };
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/signed-in'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    cookies: { keys: ['a key of the test'] },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: () => true,
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => [],
        getResourceServerInfo: () => ({ scope: 'orders:read orders:write', accessTokenFormat: 'opaque' }),
        useGrantedResource: () => true,
      },
    },
    findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId as string,
        accountId: oidc.session?.accountId as string,
      });
      grant.addResourceScope(resource, 'orders:read orders:write');
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    if (!request.url?.startsWith('/interaction/')) return void answer(request, response);
    const result = person.agrees
      ? { login: { accountId: 'ada' }, consent: {} }
      : { error: 'access_denied', error_description: 'Ada refused.' };
    return void provider.interactionFinished(request, response, result);
  };
  return { issuer, person };
}

/** Follows redirects with cookies, as a browser does, until a page, or until `stopAt` is the next address. */
export async function browse(
  address: string,
  stopAt?: string,
): Promise<{ status: number; text: string; url: string }> {
  const cookies = new Map<string, string>();
  let url = address;
  for (let count = 0; count < 20; count += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: cookie ? { cookie } : {} });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const { status } = response;
    const text = await response.text();
    const location = response.headers.get('location');
    if (location === null) return { status, text, url };
    url = new URL(location, url).href;
    if (stopAt !== undefined && url.startsWith(stopAt)) return { status, text, url };
  }
  throw new Error(`too many redirects, the last one to ${url}`);
}
