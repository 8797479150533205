/** A webhook receiver: an HTTPS server that counts deliveries. GET /health returns the count and the time of the last one. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';

const file = (name: string) => readFileSync(new URL(`../../../test/fixtures/tls/${name}`, import.meta.url));
let count = 0;
let lastAt = 0;

createTlsServer({ cert: file('server.pem'), key: file('server-key.pem') }, (request, response) => {
  request.resume().on('end', () => {
    count += 1;
    lastAt = Date.now();
    response.writeHead(204).end();
  });
}).listen(Number(process.env.TLS_PORT), '127.0.0.1');

createServer((_request, response) => void response.end(JSON.stringify({ count, lastAt }))).listen(
  Number(process.env.PORT),
  '127.0.0.1',
);
