/** A server that answers as Countersign does to a client that follows its events. The test writes the text of each stream. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';

export interface EventServer {
  readonly url: string;
  /** The header Last-Event-ID of each stream that was opened. */
  readonly opened: (string | undefined)[];
  /** How many access tokens were issued. */
  tokens(): number;
}

export const organizationId = '0192f0c1-7a3e-7c54-9b1d-2f6a8e4d5c3b';

/**
 * `stream` is called with the number of the stream, from 0. It writes to the response and ends it, or not. `statusOf` may refuse a
 * stream.
 */
export async function startEventServer(
  stream: (number: number, response: ServerResponse) => void | Promise<void>,
  statusOf: (number: number) => number = () => 200,
): Promise<EventServer> {
  const opened: (string | undefined)[] = [];
  let tokens = 0;
  const answers: Record<string, (request: IncomingMessage, response: ServerResponse) => unknown> = {
    '/api/v1/token': (_, response) => {
      tokens += 1;
      response.end(JSON.stringify({ access_token: `token-${tokens}` }));
    },
    '/api/v1/audit/chain': (_, response) =>
      response.end(JSON.stringify({ organizationId, size: 0, startsAfter: 0, links: [] })),
    '/api/v1/events': async (request, response) => {
      opened.push(request.headers['last-event-id'] as string | undefined);
      const number = opened.length - 1;
      const status = statusOf(number);
      if (status === 200) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        return stream(number, response);
      }
      const refusal = { code: 'REFUSED', message: `refused with ${status}` };
      response.writeHead(status, { 'retry-after': '1' }).end(JSON.stringify(refusal));
    },
  };
  const server = createServer((request, response) => {
    const path = (request.url ?? '').replace(/\?.*/, '');
    const answer = answers[path];
    if (answer) void answer(request, response);
    else response.writeHead(404).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, opened, tokens: () => tokens };
}

export const auditEvent = (number: number, changes: object = {}) => ({
  eventId: `0192f0c1-7a3e-7c54-9b1d-${String(number).padStart(12, '0')}`,
  agentId: '0192f0c1-7a3e-7c54-9b1d-aaaaaaaaaaaa',
  action: 'agent.created',
  outcome: 'success',
  ipAddress: '192.0.2.7',
  userAgent: 'test',
  metadata: { number },
  timestamp: '2030-01-31T12:00:00.000Z',
  ...changes,
});

export const messageText = (number: number, changes: object = {}): string =>
  `id: 2f6a8e4d5c3b-${number}\nevent: any\ndata: ${JSON.stringify(auditEvent(number, changes))}\n\n`;

export const openingText = (number: number): string => `retry: 3000\nid: 2f6a8e4d5c3b-${number}\n\n`;
