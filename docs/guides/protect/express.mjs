// An API with Express. Install: npm install express jose
import express from 'express';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const { ISSUER, AUDIENCE, PORT } = process.env;
const keys = createRemoteJWKSet(new URL(`${ISSUER}/.well-known/jwks.json`));

// jose uses each key with its own algorithm only.
const algorithms = ['RS256', 'ES256', 'EdDSA'];
const verify = (token) =>
  jwtVerify(token, keys, { issuer: ISSUER, audience: AUDIENCE, algorithms, typ: 'at+jwt' });

/** 401 without a valid token for this API, 403 without the scope. */
const requireScope = (scope) => async (request, response, next) => {
  const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const verified = token && (await verify(token).catch(() => undefined));
  if (!verified) {
    response.set('WWW-Authenticate', token ? 'Bearer error="invalid_token"' : 'Bearer');
    return response.status(401).json({ error: 'invalid_token' });
  }
  if (!verified.payload.scope.split(' ').includes(scope)) {
    response.set('WWW-Authenticate', `Bearer error="insufficient_scope", scope="${scope}"`);
    return response.status(403).json({ error: 'insufficient_scope', scope });
  }
  response.locals.agent = verified.payload;
  next();
};

const app = express();
app.get('/orders', requireScope('orders:read'), (_, response) => {
  response.json({ agent: response.locals.agent.client_id, orders: [] });
});
app.post('/orders', requireScope('orders:write'), (_, response) => {
  response.json({ agent: response.locals.agent.client_id, created: true });
});
app.listen(Number(PORT), '127.0.0.1');
