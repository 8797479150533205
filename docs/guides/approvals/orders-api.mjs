// An API that agents may read, and that refunds what a person has approved. Install: the SDK (docs/guides/typescript-sdk.md), and npm install fastify
import { createClient, createVerifier, requireDetail, TokenError } from '@countersign/sdk';
import { requireToken } from '@countersign/sdk/fastify';
import Fastify from 'fastify';

// AUDIENCE is the identifier of the resource. CLIENT_ID and CLIENT_SECRET are those of this API: an agent with the scope tokens:read.
const { ISSUER, AUDIENCE, ORGANIZATION_ID, CLIENT_ID, CLIENT_SECRET, PORT } = process.env;
const client = createClient({ issuer: ISSUER, clientId: CLIENT_ID, auth: CLIENT_SECRET });
const verifierOf = (subjects) =>
  createVerifier({
    issuer: ISSUER,
    audience: AUDIENCE,
    organizationId: ORGANIZATION_ID,
    subjects,
    revocation: 'signals',
    signals: { client, whenSilent: 'introspect' },
  });
const readers = verifierOf('any');
// An agent by itself cannot refund, also if a person grants it the scope by mistake.
const people = verifierOf('people');

const orders = new Map([
  ['1001', { order: '1001', total: 80, refunded: 0 }],
  ['1002', { order: '1002', total: 25, refunded: 0 }],
]);
/** The approvals that were used. A real API keeps them in its database, with a unique index. */
const used = new Set();

const app = Fastify();
app.get('/orders', { preHandler: requireToken(readers, { scopes: 'orders:read' }) }, async () => [
  ...orders.values(),
]);

/** A token of the agent itself is 403 insufficient_scope with this scope: it tells the agent what to ask for. */
const mayRefund = requireToken(people, { scopes: 'orders:refund' });
const body = { type: 'object', required: ['amount'], properties: { amount: { type: 'number' } } };
app.post('/orders/:order/refund', { schema: { body }, preHandler: mayRefund }, async (request, reply) => {
  /** @type {any} The schema has checked the body. */
  const { params, body: refund } = request;
  const order = orders.get(params.order);
  if (!order) return reply.code(404).send({ error: 'no_such_order' });
  const { amount } = refund;
  // Both values: a refund of 80 for this order is none for another, and none of 81.
  requireDetail(
    request.agent,
    'refund',
    (approved) => approved.order === order.order && approved.amount === amount,
  );
  const { chainId, subject } = request.agent;
  if (used.has(chainId)) return reply.code(409).send({ error: 'already_refunded' });
  used.add(chainId);
  order.refunded += amount;
  return { ...order, approvedBy: subject.id };
});
app.setErrorHandler((error, _, reply) => {
  if (!(error instanceof TokenError)) return reply.send(error);
  reply.code(error.status).header('WWW-Authenticate', error.wwwAuthenticate);
  return reply.send({ error: error.code, error_description: error.message });
});
await app.listen({ port: Number(PORT), host: '127.0.0.1' });

process.once('SIGTERM', async () => {
  await app.close();
  await Promise.all([readers.close(), people.close()]);
});
