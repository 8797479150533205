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
  /** Sent in turn, across all connections and runs. */
  readonly requests: readonly Request[];
}

const warmSeconds = 1;

export function createLoad({ url, connections, requests }: LoadOptions): Load {
  let answers = 0;

  /**
   * Left to itself autocannon gives each connection all requests from the first on, and a copy of each. Dealt out like
   * cards, each is made into bytes once, before the start, and sending one costs nothing more.
   */
  const deal = () => {
    const hands = Array.from({ length: connections }, (): Request[] => []);
    const first = answers % requests.length;
    for (const [card, request] of [...requests.slice(first), ...requests.slice(0, first)].entries()) {
      hands[card % connections]?.push({ ...request });
    }
    return hands;
  };

  return {
    answers: () => answers,
    async run(seconds) {
      const hands = deal();
      const milliseconds: number[] = [];
      let refused: string | undefined;
      let from = Number.POSITIVE_INFINITY;
      const setupClient = (client: autocannon.Client) => {
        client.setRequests(hands.pop() ?? []);
        let text: Buffer | undefined;
        client.on('body', (chunk) => {
          text = chunk;
        });
        client.on('response', (status, _bytes, duration) => {
          const now = performance.now();
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
