/**
 * The listening sockets of the HTTP server. Node accepts one connection per socket in each turn of its event loop. Under load its turns are
 * long, so with one socket new clients would wait in the queue of the kernel, and be neither served nor refused. On Linux there are several
 * sockets for the same port, and the kernel distributes the connections.
 */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { type AddressInfo, createServer, type ListenOptions, Server, type Socket } from 'node:net';
import { setTimeout as sleep, setImmediate as turnOfEventLoop } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Listeners {
  /** Fails if another server has the port. */
  listen(address: Address): Promise<void>;
  /** Accepts no new connections, except those that are already in the queue of the kernel. */
  stop(): Promise<Stopped | undefined>;
}

interface Stopped {
  /** Resolves when the last connection has ended. */
  readonly drained: Promise<unknown>;
}

const socketsPerPort = 16;
/** How long a start waits for another one on the same port. */
const lockMs = 2_000;
const lockRetryMs = 20;
/** Before the sockets close: for how long at most queued connections are accepted, and the longest turn that shows that none is left. */
const acceptMs = 1_000;
const quietTurnMs = 0.5;

/**
 * The server of Fastify has the first socket. Connections of the further ones are not in its `getConnections`, and its `close` does not wait
 * for them, but `closeAllConnections` ends them, too.
 */
export function createListeners(fastify: FastifyInstance): Listeners {
  const { server } = fastify;
  const furtherServers: Server[] = [];
  let starting: Promise<unknown> | undefined;
  /** Only while the server stops: connections that are accepted and not read yet. */
  let held: Socket[] | undefined;

  const listenOnSeveral = async ({ host, port }: Address) => {
    // Sockets that share a port do not fail when another server shares it, too.
    if (port !== 0) await probePort({ host, port });
    const reusePort = true;
    const first = { host, port, reusePort };
    await fastify.listen(first);
    const chosen = server.address() as AddressInfo;
    while (furtherServers.length < socketsPerPort - 1) {
      const further = createServer({ allowHalfOpen: true, noDelay: true });
      further.on('connection', (socket) => (held ? held.push(socket) : server.emit('connection', socket)));
      furtherServers.push(further);
      await startListening(further, { host: chosen.address, port: chosen.port, reusePort });
    }
  };

  return {
    async listen(address) {
      // With several processes the supervisor accepts the connections, and has nothing else to do.
      const several = process.platform === 'linux' && !cluster.isWorker;
      starting = several ? oneAtATime(address.port, () => listenOnSeveral(address)) : fastify.listen(address);
      await starting;
    },

    async stop() {
      await starting?.catch(() => {});
      if (!server.listening) return undefined;
      const servers = [server, ...furtherServers];
      // Clients that are answered would come back at once, and the queues would never be empty in an overload.
      held = [];
      for (const further of furtherServers) Object.assign(further, { pauseOnConnect: true });
      await acceptQueued(servers);
      const drained = Promise.all(servers.map(stopListening));
      for (const socket of held) {
        server.emit('connection', socket);
        socket.resume();
      }
      return { drained };
    },
  };
}

/** So that of two servers that start at the same time one sees the port of the other. Its name is free again when the process ends. */
async function oneAtATime(port: number, listen: () => Promise<void>): Promise<void> {
  const giveUpAt = performance.now() + lockMs;
  for (;;) {
    const lock = createServer();
    try {
      await startListening(lock, { path: `\0countersign-listen-${port}` });
    } catch {
      // Another program may hold the name for ever: that is no reason not to start.
      if (performance.now() < giveUpAt) {
        await sleep(lockRetryMs);
        continue;
      }
    }
    return listen().finally(() => lock.close());
  }
}

/** Fails if another server has the port. */
export async function probePort(address: Address): Promise<void> {
  const probe = createServer((socket) => socket.destroy());
  await startListening(probe, address);
  await stopListening(probe);
}

async function startListening(server: Server, options: ListenOptions): Promise<void> {
  server.listen(options);
  await once(server, 'listening');
}

/**
 * Accepts the connections in the kernel's queues. Closing a listening socket resets them, although their clients may have sent requests, and
 * no proxy repeats a POST then. Node accepts one per socket in each turn of its event loop: after a short turn without one
 * the queues are empty. The first turn can be the rest of the current one.
 */
async function acceptQueued(servers: readonly Server[]): Promise<void> {
  const startedAt = performance.now();
  let accepted = 0;
  const count = () => {
    accepted += 1;
  };
  for (const server of servers) server.on('connection', count);
  let quietTurns = 0;
  for (let at = startedAt; at - startedAt < acceptMs && quietTurns < 2; ) {
    const before = accepted;
    await turnOfEventLoop();
    const turnMs = performance.now() - at;
    at += turnMs;
    quietTurns = accepted === before && turnMs < quietTurnMs ? quietTurns + 1 : 0;
  }
  for (const server of servers) server.off('connection', count);
}

/** Unlike the HTTP server's own `close`, it keeps idle connections open. */
const stopListening = (server: Server): Promise<void> =>
  new Promise((drained) => Server.prototype.close.call(server, () => drained()));
