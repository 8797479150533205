/**
 * A webhook receiver for trying webhooks on one machine:  SIGNING_SECRET=whsec_… node docs/guides/local-receiver.mjs [port or address]
 * It prints each delivery with the result of the check. For https, the default, it needs a certificate in ./receiver-cert.pem and
 * ./receiver-key.pem. `countersign listen` can send to an http address, such as http://localhost:9000.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';

const argument = process.argv[2] ?? '9443';
const address = new URL(/^\d+$/.test(argument) ? `https://localhost:${argument}` : argument);
const secret = process.env.SIGNING_SECRET ?? '';
const maxAgeSeconds = 300;
const handled = new Set();

/** Checks the bytes as they arrived: parsing and writing JSON again would change them. */
function verify(headers, rawBody) {
  const timestamp = headers['x-service-timestamp'] ?? '';
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > maxAgeSeconds) return 'too old';
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody).digest();
  // The second header is there for a while after a change of the secret.
  const isValid = ['x-service-signature-256', 'x-service-signature-256-previous'].some((name) => {
    const received = Buffer.from((headers[name] ?? '').replace('sha256=', ''), 'hex');
    return received.length === expected.length && timingSafeEqual(received, expected);
  });
  return isValid ? 'valid' : 'bad signature';
}

async function receive(request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const rawBody = Buffer.concat(chunks);
  const result = verify(request.headers, rawBody);
  const id = request.headers['x-service-delivery-id'];
  console.log(request.headers['x-service-event'], id, result, handled.has(id) ? '(seen before)' : '');
  if (result === 'valid') handled.add(id);
  response.writeHead(result === 'valid' ? 204 : 401).end();
}

const server =
  address.protocol === 'https:'
    ? https.createServer(
        { cert: readFileSync('receiver-cert.pem'), key: readFileSync('receiver-key.pem') },
        receive,
      )
    : http.createServer(receive);
server.listen(Number(address.port), address.hostname, () => console.log(`receiver ${address.origin}`));
