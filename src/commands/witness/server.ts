/** The HTTP side of the witness: one route, small bodies, and time limits for slow clients. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { maxRequestBytes } from '../../../sdk/typescript/src/transparency/add-checkpoint.ts';
import type { AddCheckpointHandler } from './add-checkpoint.ts';

const requestMs = 10_000;
const maxConnections = 200;

export function createWitnessServer(deps: {
  addCheckpoint: AddCheckpointHandler;
  /** The text of `GET /`. */
  about: string;
  log(line: string): void;
}): Server {
  const { addCheckpoint, about, log } = deps;

  const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [path] = (request.url ?? '').split('?');
    if (path === '/' && request.method === 'GET') return send(response, 200, about);
    if (path !== '/add-checkpoint') return send(response, 404, 'there is only /add-checkpoint\n');
    if (request.method !== 'POST') {
      response.setHeader('allow', 'POST');
      return send(response, 405, 'the method is POST\n');
    }
    const body = await readBody(request);
    if (!body) {
      response.setHeader('connection', 'close');
      return send(response, 413, `the request has more than ${maxRequestBytes} bytes\n`);
    }
    const { status, body: text, contentType, event } = await addCheckpoint(body);
    log(`${status} ${event ?? text.trimEnd()}`);
    send(response, status, text, contentType);
  };

  const server = createServer(
    { requestTimeout: requestMs, headersTimeout: requestMs },
    (request, response) => {
      route(request, response).catch((error: Error) => {
        // A client that has gone needs no answer.
        if (request.destroyed && !request.complete) return;
        log(`500 ${error.message}`);
        if (!response.headersSent) send(response, 500, 'the witness cannot store its state\n');
      });
    },
  );
  server.maxConnections = maxConnections;
  return server;
}

function send(
  response: ServerResponse,
  status: number,
  body: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' }).end(body);
}

/** Undefined when it is too large. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > maxRequestBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
