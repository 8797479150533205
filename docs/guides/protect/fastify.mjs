// An API with Fastify. Install: npm install fastify jose
import Fastify from 'fastify';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const { ISSUER, AUDIENCE, PORT } = process.env;
const keys = createRemoteJWKSet(new URL(`${ISSUER}/.well-known/jwks.json`));

// jose uses each key with its own algorithm only.
const algorithms = ['RS256', 'ES256', 'EdDSA'];
const verify = (token) =>
  jwtVerify(token, keys, { issuer: ISSUER, audience: AUDIENCE, algorithms, typ: 'at+jwt' });

/** 401 without a valid token for this API, 403 without the scope. */
const requireScope = (scope) => async (request, reply) => {
  const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const verified = token && (await verify(token).catch(() => undefined));
  if (!verified) {
    reply.header('WWW-Authenticate', token ? 'Bearer error="invalid_token"' : 'Bearer');
    return reply.code(401).send({ error: 'invalid_token' });
  }
  if (!verified.payload.scope.split(' ').includes(scope)) {
    reply.header('WWW-Authenticate', `Bearer error="insufficient_scope", scope="${scope}"`);
    return reply.code(403).send({ error: 'insufficient_scope', scope });
  }
  request.setDecorator('clientId', verified.payload.client_id);
};

const app = Fastify();
app.decorateRequest('clientId');
app.get('/orders', { preHandler: requireScope('orders:read') }, async (request) => ({
  agent: request.getDecorator('clientId'),
  orders: [],
}));
app.post('/orders', { preHandler: requireScope('orders:write') }, async (request) => ({
  agent: request.getDecorator('clientId'),
  created: true,
}));
await app.listen({ port: Number(PORT), host: '127.0.0.1' });
