/** A plain client for server-sent events: the text as it comes, and its messages. */
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';
import { until } from '../programs.ts';

export interface Message {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string | undefined;
}

export interface OpenStream {
  readonly response: IncomingMessage;
  /** All that came so far. */
  text(): string;
  /** The messages with data. */
  messages(): Message[];
  /** The last id, of a message or alone. */
  lastEventId(): string | undefined;
  /** Waits until a message passes the test. */
  message(what: string, test: (message: Message) => boolean): Promise<Message>;
  /** Resolves to whether the response was complete, when the server ends it. */
  ended(): Promise<boolean>;
  close(): void;
}

const fieldOf = (block: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];

export interface StreamOptions {
  readonly query?: string;
  readonly headers?: Record<string, string>;
}

const ask = async (base: string, token: string | undefined, { query = '', headers }: StreamOptions) => {
  const { request, Agent } = base.startsWith('https:') ? https : http;
  const sent = request(`${base}/api/v1/events${query}`, {
    agent: new Agent({ keepAlive: false }),
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
  }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  sent.on('error', () => {});
  return response;
};

export async function openStream(
  base: string,
  token: string,
  options: StreamOptions = {},
): Promise<OpenStream> {
  const response = await ask(base, token, options);
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${await text(response)}`);
  let received = '';
  response.setEncoding('utf8').on('data', (chunk) => (received += chunk));
  response.on('error', () => {});
  let isClosed = false;
  response.once('close', () => (isClosed = true));
  after(() => response.destroy());
  const blocks = () => received.split('\n\n').slice(0, -1);
  const messages = () =>
    blocks()
      .map((block) => ({
        id: fieldOf(block, 'id'),
        event: fieldOf(block, 'event'),
        data: fieldOf(block, 'data'),
      }))
      .filter(({ data }) => data !== undefined);
  await until('the opening', async () => received.includes('\n\n') || undefined);
  return {
    response,
    text: () => received,
    messages,
    lastEventId: () =>
      blocks()
        .flatMap((block) => fieldOf(block, 'id') ?? [])
        .at(-1),
    message: (what, test) => until(what, async () => messages().find(test), undefined, 30_000),
    async ended() {
      await until('the end', async () => isClosed || undefined, undefined, 30_000);
      return response.complete;
    },
    close: () => response.destroy(),
  };
}

/** The answer to a request that is refused. */
export async function refusedStream(base: string, token?: string, options: StreamOptions = {}) {
  const response = await ask(base, token, options);
  const { statusCode: status, headers } = response;
  if (status === 200) {
    response.destroy();
    throw new Error('the stream was opened');
  }
  const { code, message } = JSON.parse(await text(response));
  return { answer: `${status} ${code}`, message: String(message), headers };
}
