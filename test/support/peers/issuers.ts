/** Issuers on loopback: one whose key set a test controls and counts, and a real oidc-provider. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { exportJWK, type JWK, type JWTHeaderParameters, SignJWT } from 'jose';
import type { Clock } from '../../../src/kernel/clock.ts';

export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: KeyObject;
  readonly publicJwk: JWK;
}

let keyCount = 0;

export async function makeKey(alg = 'ES256', changes: { bits?: number } = {}): Promise<SigningKey> {
  const pair =
    alg === 'EdDSA'
      ? generateKeyPairSync('ed25519')
      : alg.startsWith('ES')
        ? generateKeyPairSync('ec', {
            namedCurve: { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }[alg] as string,
          })
        : generateKeyPairSync('rsa', { modulusLength: changes.bits ?? 2048 });
  keyCount += 1;
  const kid = `key-${keyCount}`;
  const publicJwk = { ...(await exportJWK(pair.publicKey)), kid, alg, use: 'sig' };
  return { kid, alg, privateKey: pair.privateKey, publicJwk };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

export interface Issuer {
  readonly url: string;
  readonly jwksUri: string;
  /** The keys of the next key set response. */
  keys: SigningKey[];
  /** Requests per path. */
  readonly requestCounts: Record<string, number>;
  readonly connections: () => number;
  /** Handles requests while it is set. */
  handlerOverride: RequestHandler | undefined;
  cacheControl: string | undefined;
  /** Signs valid claims with these changes; `undefined` removes a claim. */
  sign(
    changes?: Readonly<Record<string, unknown>>,
    options?: { key?: SigningKey; header?: Partial<JWTHeaderParameters> },
  ): Promise<string>;
}

export async function startIssuer(clock: Clock, alg = 'ES256'): Promise<Issuer> {
  let connections = 0;
  const requestCounts: Record<string, number> = {};
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    requestCounts[path] = (requestCounts[path] ?? 0) + 1;
    if (issuer.handlerOverride) return issuer.handlerOverride(request, response);
    response.setHeader('content-type', 'application/json');
    if (issuer.cacheControl !== undefined) response.setHeader('cache-control', issuer.cacheControl);
    if (path === '/.well-known/openid-configuration')
      return response.end(JSON.stringify({ issuer: issuer.url, jwks_uri: issuer.jwksUri }));
    if (path === '/jwks')
      return response.end(JSON.stringify({ keys: issuer.keys.map(({ publicJwk }) => publicJwk) }));
    return response.writeHead(404).end();
  });
  server.on('connection', () => {
    connections += 1;
  });
  const url = await listen(server);
  const issuer: Issuer = {
    url,
    jwksUri: `${url}/jwks`,
    keys: [await makeKey(alg)],
    requestCounts,
    connections: () => connections,
    handlerOverride: undefined,
    cacheControl: undefined,
    sign(changes = {}, { key = issuer.keys[0] as SigningKey, header = {} } = {}) {
      const now = Math.floor(clock.now() / 1000);
      const claims = {
        iss: url,
        sub: 'workload-1',
        aud: 'http://countersign.test',
        iat: now,
        exp: now + 300,
        jti: crypto.randomUUID(),
        ...changes,
      };
      return new SignJWT(JSON.parse(JSON.stringify(claims)))
        .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
        .sign(key.privateKey);
    },
  };
  return issuer;
}

/** A real provider with two clients, `pipeline` and `other`, whose access tokens are JWTs for the requested resource. */
export async function startOidcProvider(): Promise<{
  issuer: string;
  jwksUri: string;
  token(resource: string, client?: string): Promise<string>;
}> {
  const { Provider } = await import('oidc-provider');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  let answer: RequestHandler = (_, response) => void response.end();
  const issuer = await listen(createServer((request, response) => answer(request, response)));
  const provider = new Provider(issuer, {
    clients: ['pipeline', 'other'].map((client_id) => ({
      client_id,
      client_secret: `${client_id}-secret`,
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
    })),
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig' } as never] },
    scopes: ['deploy'],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({
          scope: 'deploy',
          audience: resource,
          accessTokenTTL: 300,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  });
  answer = provider.callback();
  return {
    issuer,
    jwksUri: `${issuer}/jwks`,
    async token(resource, client = 'pipeline') {
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${client}:${client}-secret`)}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'deploy', resource }),
      });
      const body = (await response.json()) as { access_token?: string };
      if (!body.access_token) throw new Error(`no token: ${JSON.stringify(body)}`);
      return body.access_token;
    },
  };
}
