// An agent on a person's computer. Install: the SDK (docs/guides/typescript-sdk.md)
import { createPersonSession } from '@countersign/sdk';
import { authorizeOnLoopback } from '@countersign/sdk/loopback';

const { ISSUER, CLIENT_ID, AUDIENCE } = process.env;
const person = { issuer: ISSUER, clientId: CLIENT_ID, resource: AUDIENCE };
const session = createPersonSession(person);

await session.save(await authorizeOnLoopback({ ...person, open: (url) => console.log(`Open ${url}`) }));
const response = await fetch(AUDIENCE, {
  method: 'POST',
  headers: {
    authorization: `Bearer ${await session.token()}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'list_orders', arguments: {} },
  }),
});
console.log(await response.text());
