// An API that pays only what a person has approved. Install: the SDK (docs/guides/typescript-sdk.md), and npm install fastify
import { createClient, createVerifier, requireDetail, TokenError } from '@countersign/sdk';
import { requireToken } from '@countersign/sdk/fastify';
import Fastify from 'fastify';

// AUDIENCE is the identifier of the resource. CLIENT_ID and CLIENT_SECRET are those of this API: an agent with the scope tokens:read.
const { ISSUER, AUDIENCE, ORGANIZATION_ID, CLIENT_ID, CLIENT_SECRET, PORT } = process.env;
const verifier = createVerifier({
  issuer: ISSUER,
  audience: AUDIENCE,
  organizationId: ORGANIZATION_ID,
  // A person must have approved: a token of an agent that acts for itself is refused.
  subjects: 'people',
  // A revoked approval is refused within a second. For large amounts ask about each token, with 'introspect'.
  revocation: 'signals',
  signals: {
    client: createClient({ issuer: ISSUER, clientId: CLIENT_ID, auth: CLIENT_SECRET }),
    whenSilent: 'introspect',
  },
});

const body = {
  type: 'object',
  required: ['amount', 'currency', 'creditor'],
  properties: {
    amount: { type: 'number' },
    currency: { type: 'string' },
    creditor: { type: 'string' },
  },
};
/** Payments by approval. A real API keeps them in its database, with a unique index. */
const payments = new Map();

const app = Fastify();
app.post(
  '/payments',
  { schema: { body }, preHandler: requireToken(verifier, { scopes: 'payments:create' }) },
  async (request, reply) => {
    /** @type {any} The schema has checked it. */
    const { amount, currency, creditor } = request.body;
    // Each value that counts: what is not compared is not approved.
    requireDetail(
      request.agent,
      'payment',
      (approved) =>
        approved.amount === amount && approved.currency === currency && approved.creditor === creditor,
    );
    // The token is good for its whole lifetime. One approval pays once.
    const { chainId, subject, agentId } = request.agent;
    if (payments.has(chainId)) return reply.code(409).send({ error: 'already_paid' });
    const payment = { amount, currency, creditor, approvedBy: subject.id, paidBy: agentId };
    payments.set(chainId, payment);
    return reply.code(201).send(payment);
  },
);
app.setErrorHandler((error, _, reply) => {
  if (!(error instanceof TokenError)) return reply.send(error);
  reply.code(error.status).header('WWW-Authenticate', error.wwwAuthenticate);
  return reply.send({ error: error.code, error_description: error.message });
});
await app.listen({ port: Number(PORT), host: '127.0.0.1' });

process.once('SIGTERM', async () => {
  await app.close();
  await verifier.close();
});
