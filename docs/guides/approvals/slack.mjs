// Posts requests for approval to a channel of Slack. Install: npm install @countersign/sdk
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { verifyWebhook } from '@countersign/sdk';

const { SIGNING_SECRET, SLACK_WEBHOOK_URL, PORT } = process.env;
createServer(async (request, response) => {
  const body = await text(request);
  const event = await verifyWebhook(body, request.headers, SIGNING_SECRET).catch(() => undefined);
  if (event?.type === 'approval.requested') {
    // The link alone: the words of the agent are on the page, where nobody takes them for ours.
    const message = JSON.stringify({ text: `An agent asks for approval: ${event.data.url}` });
    const headers = { 'content-type': 'application/json' };
    await fetch(SLACK_WEBHOOK_URL, { method: 'POST', headers, body: message });
  }
  response.writeHead(event ? 204 : 401).end();
}).listen(Number(PORT), '127.0.0.1');
