/** A Fastify server that returns one fixed response, given in the environment. */
import formbody from '@fastify/formbody';
import fastify from 'fastify';

const response = JSON.parse(process.env.ANSWER ?? '{}');
const server = fastify();
server.register(formbody);
server.get('/health', async () => ({ status: 'ok' }));
server.post('/api/v1/token/introspect', async () => response);
server.get('/api/v1/agents/:agentId', async () => response);
await server.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
