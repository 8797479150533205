// An API that learns of ended tokens within a second. Install: the SDK (docs/guides/typescript-sdk.md), and npm install fastify
import { createClient, createVerifier } from '@countersign/sdk';
import { agentOf, requireToken } from '@countersign/sdk/fastify';
import Fastify from 'fastify';

// CLIENT_ID and CLIENT_SECRET are those of the API itself: an agent with the scope tokens:read.
const { ISSUER, AUDIENCE, ORGANIZATION_ID, CLIENT_ID, CLIENT_SECRET, PORT } = process.env;
const verifier = createVerifier({
  issuer: ISSUER,
  audience: AUDIENCE,
  organizationId: ORGANIZATION_ID,
  subjects: 'any',
  revocation: 'signals',
  signals: {
    client: createClient({ issuer: ISSUER, clientId: CLIENT_ID, auth: CLIENT_SECRET }),
    whenSilent: process.env.WHEN_SILENT ?? 'introspect',
    onStatus: ({ state }) => console.log(`signals: ${state}`),
  },
});

const app = Fastify();
app.get('/orders', { preHandler: requireToken(verifier, { scopes: 'orders:read' }) }, async (request) => ({
  agent: agentOf(request).agentId,
  orders: [],
}));
// For Prometheus. Alert when it is above your maxSilenceSeconds.
app.get(
  '/metrics',
  async () =>
    `# TYPE signals_silent_seconds gauge\nsignals_silent_seconds ${verifier.status().silentSeconds}\n`,
);
await app.listen({ port: Number(PORT), host: '127.0.0.1' });

process.once('SIGTERM', async () => {
  await app.close();
  await verifier.close();
});
