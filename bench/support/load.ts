/**
 * The load generator: keep-alive connections on loopback, each sending its next request after the last response. Requests are serialized
 * beforehand, and responses are parsed only for their status and end: the generator's CPU time is taken from the server it measures.
 */
import { bytesOf, type Connection, openConnection, type Request } from './generators/connection.ts';
import type { Rate } from './rounds.ts';

export type { Request };

export interface LoadResult extends Rate {
  /** Without the warm-up, in no order. */
  readonly milliseconds: readonly number[];
}

export interface Load {
  /** Measures for `seconds`, after a warm-up. */
  run(seconds: number): Promise<LoadResult>;
  /** Successful responses of all runs, warm-ups included. */
  answers(): number;
}

export interface LoadOptions {
  readonly url: string;
  readonly connections: number;
  /** Sent round robin, across all connections and runs. */
  readonly requests: readonly Request[];
}

const warmUpMs = 1_000;
const isSuccess = /^HTTP\/1\.1 2/;

export function createLoad({ url, connections, requests }: LoadOptions): Load {
  const { hostname, port, host } = new URL(url);
  const sent = requests.map((request) => bytesOf(request, host));
  let next = 0;
  let answers = 0;

  return {
    answers: () => answers,
    async run(seconds) {
      const opened: Connection[] = [];
      const milliseconds: number[] = [];
      const from = performance.now() + warmUpMs;
      const until = from + seconds * 1000;
      const sendRepeatedly = async ({ socket, answered }: Connection) => {
        for (;;) {
          const sentAt = performance.now();
          socket.write(sent[next++ % sent.length] as Buffer);
          const answer = await answered();
          if (!isSuccess.test(answer)) throw new Error(`answered ${answer}`);
          const now = performance.now();
          answers += 1;
          if (now >= until) return;
          if (now >= from) milliseconds.push(now - sentAt);
        }
      };
      try {
        while (opened.length < connections) opened.push(await openConnection(hostname, Number(port)));
        await Promise.all(opened.map(sendRepeatedly));
      } catch (error) {
        throw new Error(`${url}: ${error instanceof Error ? error.message : error}`, { cause: error });
      } finally {
        for (const { socket } of opened) socket.destroy();
      }
      return { perSecond: milliseconds.length / seconds, milliseconds };
    },
  };
}
