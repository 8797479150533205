/**
 * A webhook receiver for trying webhooks on one machine:  SIGNING_SECRET=whsec_… node docs/guides/local-receiver.mjs [port]
 * It needs a certificate in ./receiver-cert.pem and ./receiver-key.pem, and prints each delivery with the result of the check.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';

const port = Number(process.argv[2] ?? 9443);
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

const certificate = { cert: readFileSync('receiver-cert.pem'), key: readFileSync('receiver-key.pem') };
createServer(certificate, async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const rawBody = Buffer.concat(chunks);
  const result = verify(request.headers, rawBody);
  const id = request.headers['x-service-delivery-id'];
  console.log(request.headers['x-service-event'], id, result, handled.has(id) ? '(seen before)' : '');
  if (result === 'valid') handled.add(id);
  response.writeHead(result === 'valid' ? 204 : 401).end();
}).listen(port, 'localhost', () => console.log(`receiver https://localhost:${port}`));
