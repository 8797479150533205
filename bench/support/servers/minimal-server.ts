/**
 * The minimal token server in Node: clients in a map, no framework, one signature, and one row of a plain table that is on disk before
 * the response, batched as ours are. It has no limits, counters or audit chain. Its rate is an upper bound.
 */
import { createPrivateKey, hash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { CompactSign } from 'jose';
import pg from 'pg';
import { createBatcher } from '../../../src/kernel/concurrency/batcher.ts';

const { PORT, PRIVATE_KEY = '', CLIENTS = '', DATABASE_URL } = process.env;
const issuer = `http://127.0.0.1:${PORT}`;
const scope = 'agents:read tokens:read';
const expiresIn = 3600;
const key = createPrivateKey(PRIVATE_KEY).toCryptoKey({ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, false, [
  'sign',
]);
const secrets: Record<string, string> = JSON.parse(readFileSync(CLIENTS, 'utf8'));
const hashes = new Map(Object.entries(secrets).map(([id, secret]) => [id, hash('sha256', secret)]));

const database = new pg.Client({ connectionString: DATABASE_URL });
await database.connect();
await database.query('create table minimal_tokens (token_id uuid primary key, claims json not null)');

interface Claims {
  readonly jti: string;
}

const record = createBatcher({
  name: 'record',
  async run(tokens: readonly Claims[]) {
    await database.query({
      name: 'record',
      text: `insert into minimal_tokens select (claims ->> 'jti')::uuid, claims from json_array_elements($1::json) as claims`,
      values: [JSON.stringify(tokens)],
    });
    return tokens.map(() => undefined);
  },
  maxBatch: 100,
  concurrency: 1,
  maxQueue: 1_000,
});

const sign = (claims: Claims): Promise<string> =>
  new CompactSign(Buffer.from(JSON.stringify(claims)))
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: 'minimal' })
    .sign(key);

async function issue(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, basic = ''] = request.headers.authorization?.split(' ') ?? [];
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(':');
  const form = await text(request);
  if (form !== 'grant_type=client_credentials' || hashes.get(id) !== hash('sha256', secret)) {
    response.writeHead(401).end();
    return;
  }
  const iat = Math.floor(Date.now() / 1000);
  const exp = iat + expiresIn;
  const claims = { iss: issuer, aud: issuer, sub: id, client_id: id, scope, iat, exp, jti: randomUUID() };
  const [access_token] = await Promise.all([sign(claims), record(claims)]);
  const answer = JSON.stringify({ access_token, token_type: 'Bearer', expires_in: expiresIn, scope });
  const length = Buffer.byteLength(answer);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length }).end(answer);
}

createServer((request, response) => {
  if (request.url === '/health') response.end();
  else issue(request, response).catch(() => response.writeHead(503).end());
}).listen(Number(PORT), '127.0.0.1');
