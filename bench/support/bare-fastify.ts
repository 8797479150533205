/** A Fastify server that knows one answer, in the environment, and gives it to whoever asks. */
import formbody from '@fastify/formbody';
import fastify from 'fastify';

const answer = JSON.parse(process.env.ANSWER ?? '{}');
const server = fastify();
server.register(formbody);
server.get('/health', async () => ({ status: 'ok' }));
server.post('/api/v1/token/introspect', async () => answer);
server.get('/api/v1/agents/:agentId', async () => answer);
await server.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
