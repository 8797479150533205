/** A TCP proxy to a dependency. A test can cut, freeze and restore it without affecting other tests. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { after } from 'node:test';
import { freePort } from '../programs.ts';

export interface Relay {
  readonly port: number;
  /** Closes every connection and refuses new ones. */
  cut(): void;
  /** Keeps connections open and accepts new ones, but forwards no data. */
  freeze(): void;
  /** Ends a cut or a freeze. */
  restore(): Promise<void>;
}

/** Forwards to a port of this machine. */
export async function startRelay(targetPort: number): Promise<Relay> {
  const port = await freePort();
  const pairs = new Set<[Socket, Socket]>();
  let frozen = false;
  const server = createServer((near) => {
    const far = connect(targetPort, '127.0.0.1');
    const pair: [Socket, Socket] = [near, far];
    pairs.add(pair);
    near.pipe(far);
    far.pipe(near);
    if (frozen) hold(pair);
    for (const socket of pair) {
      socket.on('error', () => {});
      socket.on('close', () => {
        pairs.delete(pair);
        near.destroy();
        far.destroy();
      });
    }
  });
  const hold = ([near, far]: [Socket, Socket]) => {
    near.unpipe(far).pause();
    far.unpipe(near).pause();
  };
  const cut = () => {
    server.close();
    for (const [near] of pairs) near.destroy();
  };
  const listen = async () => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  await listen();
  after(cut);
  return {
    port,
    cut,
    freeze() {
      frozen = true;
      for (const pair of pairs) hold(pair);
    },
    async restore() {
      frozen = false;
      for (const [near, far] of pairs) {
        near.pipe(far);
        far.pipe(near);
      }
      if (!server.listening) await listen();
    },
  };
}

/** The same database through the relay. */
export function throughRelay(url: string, { port }: Relay): string {
  const relayed = new URL(url);
  relayed.port = String(port);
  return relayed.href;
}
