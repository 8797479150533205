/** The load: keep-alive connections on loopback, each sending its next request as soon as the last one is answered. */
import autocannon from 'autocannon';
import type { Rated } from './rounds.ts';

export type Request = Pick<autocannon.Request, 'method' | 'path' | 'headers' | 'body'>;

export interface Measured extends Rated {
  /** Of the measured time only, in no order. */
  readonly milliseconds: readonly number[];
}

export interface Load {
  /** Measures for `seconds`, after a moment of the same load that does not count. */
  run(seconds: number): Promise<Measured>;
  /** Good answers in all runs, those of the uncounted moments included. */
  answers(): number;
}

export interface LoadOptions {
  readonly url: string;
  readonly connections: number;
  /** Sent in turn, across all connections and runs; at least one for each connection. */
  readonly requests: readonly Request[];
}

const warmSeconds = 1;

export function createLoad({ url, connections, requests }: LoadOptions): Load {
  let answers = 0;
  const hands = deal(requests, connections);

  return {
    answers: () => answers,
    async run(seconds) {
      const free = [...hands];
      const milliseconds: number[] = [];
      let refused: string | undefined;
      let from = Number.POSITIVE_INFINITY;
      const setupClient = (client: autocannon.Client) => {
        const hand = free.pop() ?? { requests: [], next: 0 };
        client.setRequests(fromNext(hand));
        let text: Buffer | undefined;
        client.on('body', (chunk) => {
          text = chunk;
        });
        client.on('response', (status, _bytes, duration) => {
          const now = performance.now();
          hand.next += 1;
          const good = status >= 200 && status < 300;
          if (good) answers += 1;
          else refused ??= `${status}: ${text}`;
          if (!good || now >= from + seconds * 1000) instance.stop();
          else if (now >= from) milliseconds.push(duration);
        });
      };
      const { promise, resolve, reject } = Promise.withResolvers<autocannon.Result>();
      const instance = autocannon(
        { url, connections, duration: warmSeconds + seconds + 1, sampleInt: 100, setupClient },
        (error, result) => (error ? reject(error) : resolve(result)),
      );
      instance.on('start', () => {
        from = performance.now() + warmSeconds * 1000;
      });
      const { errors } = await promise;
      if (refused !== undefined) throw new Error(`${url} answered ${refused}`);
      if (errors > 0) throw new Error(`${url}: ${errors} connections failed or timed out`);
      return { perSecond: milliseconds.length / seconds, milliseconds };
    },
  };
}

interface Hand {
  readonly requests: readonly Request[];
  next: number;
}

/**
 * Left to itself autocannon gives each connection all requests, from the first on, and a copy of each. Dealt out like
 * cards, each is made into bytes once, before the start, and sending one costs nothing more.
 */
const deal = (requests: readonly Request[], connections: number): Hand[] =>
  Array.from({ length: connections }, (_, place) => ({
    requests: requests.filter((_, card) => card % connections === place),
    next: 0,
  }));

/** Goes on where the run before stopped. Copies, because autocannon writes into what it gets. */
function fromNext({ requests, next }: Hand): Request[] {
  const first = next % requests.length;
  return [...requests.slice(first), ...requests.slice(0, first)].map((request) => ({ ...request }));
}
