/** Continuous background requests during a test. */
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

export interface TimedResponse {
  /** The status, or the error when there was no response. */
  readonly outcome: number | string;
  readonly headers: Headers | undefined;
  readonly body: string;
  readonly ms: number;
}

export interface Traffic {
  /** The longest response time so far in milliseconds, as a baseline before a fault. */
  slowest(): number;
  /** All responses so far. */
  responses(): readonly TimedResponse[];
  stop(): Promise<readonly TimedResponse[]>;
}

/** Two clients send each request in a loop, with a short pause after each response. */
export function startTraffic(requests: readonly (() => Promise<Response>)[]): Traffic {
  const responses: TimedResponse[] = [];
  let stopped = false;
  const client = async (ask: () => Promise<Response>) => {
    while (!stopped) {
      responses.push(await timedRequest(ask));
      await sleep(10);
    }
  };
  const clients = Promise.all([...requests, ...requests].map(client));
  // A failed test does not call stop().
  after(() => {
    stopped = true;
  });
  return {
    slowest: () => Math.max(0, ...responses.map(({ ms }) => ms)),
    responses: () => responses,
    async stop() {
      stopped = true;
      await clients;
      return responses;
    },
  };
}

async function timedRequest(ask: () => Promise<Response>): Promise<TimedResponse> {
  const started = performance.now();
  const ms = () => Math.round(performance.now() - started);
  try {
    const response = await ask();
    const body = await response.text();
    return { outcome: response.status, headers: response.headers, body, ms: ms() };
  } catch (error) {
    const { message, cause } = error as Error;
    // nginx ends a connection after 1,000 requests. The client should repeat the request itself, and undici does not.
    if (/GOAWAY.*code 0/.test(String(cause))) return timedRequest(ask);
    return { outcome: `${message} ${cause ?? ''}`, headers: undefined, body: '', ms: ms() };
  }
}
