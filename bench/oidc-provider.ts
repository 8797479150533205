/** oidc-provider as it comes, with its adapter in memory and one client, issuing RS256 access tokens. */
import { createPrivateKey } from 'node:crypto';
import { createServer } from 'node:http';
import { type JWK, Provider } from 'oidc-provider';

const { PORT, PRIVATE_KEY = '', CLIENT_ID = '', CLIENT_SECRET = '' } = process.env;
const issuer = `http://127.0.0.1:${PORT}`;
const scope = 'agents:read tokens:read';
const key = createPrivateKey(PRIVATE_KEY).export({ format: 'jwk' }) as JWK;

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
    },
  ],
  jwks: { keys: [{ ...key, alg: 'RS256', use: 'sig' }] },
  scopes: scope.split(' '),
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    // Only tokens for a resource can be JWTs.
    resourceIndicators: {
      enabled: true,
      defaultResource: () => issuer,
      getResourceServerInfo: () => ({
        scope,
        audience: issuer,
        accessTokenTTL: 3600,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
});

const answer = provider.callback();
createServer((request, response) => {
  if (request.url === '/health') response.end();
  else answer(request, response);
}).listen(Number(PORT), '127.0.0.1');
