/**
 * An OpenID issuer for trying workload identity and federation on one machine:  node docs/guides/local-issuer.mjs [port]
 * It publishes a discovery document and a key set, and signs a token for every request to /token?sub=…&aud=… (further parameters
 * become claims). Never use it for anything else: it gives a token to every caller.
 */
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { createServer } from 'node:http';

const port = Number(process.argv[2] ?? 9400);
const issuer = `http://localhost:${port}`;
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = { ...publicKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'RS256', use: 'sig' };

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
const tokenWith = (claims) => {
  const now = Math.floor(Date.now() / 1000);
  const header = encode({ alg: 'RS256', typ: 'JWT', kid: key.kid });
  const payload = encode({ iss: issuer, iat: now, exp: now + 300, jti: randomUUID(), ...claims });
  const signature = sign('sha256', Buffer.from(`${header}.${payload}`), privateKey).toString('base64url');
  return `${header}.${payload}.${signature}`;
};

createServer((request, response) => {
  const url = new URL(request.url ?? '/', issuer);
  const answer = (body) => response.end(typeof body === 'string' ? body : JSON.stringify(body));
  response.setHeader('content-type', url.pathname === '/token' ? 'text/plain' : 'application/json');
  if (url.pathname === '/token') return answer(tokenWith(Object.fromEntries(url.searchParams)));
  if (url.pathname === '/jwks.json') return answer({ keys: [key] });
  if (url.pathname === '/.well-known/openid-configuration')
    return answer({ issuer, jwks_uri: `${issuer}/jwks.json` });
  response.statusCode = 404;
  return answer({});
}).listen(port, 'localhost', () => console.log(`issuer ${issuer}`));
