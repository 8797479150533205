/** oidc-provider with the same number of clients, in memory, issuing RS256 access tokens. */
import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type Adapter, type AdapterPayload, type JWK, Provider } from 'oidc-provider';

const { PORT, PRIVATE_KEY = '', CLIENTS = '' } = process.env;
const issuer = `http://127.0.0.1:${PORT}`;
const scope = 'agents:read tokens:read';
const key = createPrivateKey(PRIVATE_KEY).export({ format: 'jwk' }) as JWK;

const store = new Map<string, AdapterPayload>();
const secrets: Record<string, string> = JSON.parse(readFileSync(CLIENTS, 'utf8'));
for (const [client_id, client_secret] of Object.entries(secrets)) {
  store.set(`Client:${client_id}`, {
    client_id,
    client_secret,
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
  });
}

/** The built-in adapter is an LRU of a thousand entries. */
class MemoryAdapter implements Adapter {
  readonly #name: string;
  constructor(name: string) {
    this.#name = name;
  }
  async find(id: string) {
    return store.get(`${this.#name}:${id}`);
  }
  async upsert(id: string, payload: AdapterPayload) {
    store.set(`${this.#name}:${id}`, payload);
  }
  async destroy(id: string) {
    store.delete(`${this.#name}:${id}`);
  }
  async findByUid() {
    return undefined;
  }
  async findByUserCode() {
    return undefined;
  }
  async consume() {}
  async revokeByGrantId() {}
}

const provider = new Provider(issuer, {
  adapter: MemoryAdapter,
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

const handle = provider.callback();
createServer((request, response) => {
  if (request.url === '/health') response.end();
  else handle(request, response);
}).listen(Number(PORT), '127.0.0.1');
