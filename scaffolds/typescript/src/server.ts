/** An API that accepts tokens of other agents, and webhooks. It learns of ended tokens, agents and delegations within a second. */
import { createServer, type Server } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { TokenError, type Verifier, verifyWebhook, WebhookError } from './countersign/sdk.ts';

export function createApi(verifier: Verifier, webhookSecret: () => string): Server {
  return createServer(async (request, response) => {
    try {
      if (request.url === '/webhooks') {
        // The bytes that came: parsed and written again they are another text, and the signature no longer fits.
        await verifyWebhook(await buffer(request), request.headers, webhookSecret());
        response.end();
      } else {
        const { agentId, subject, scopes } = await verifier.verify(request);
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ agentId, subject, scopes }));
      }
    } catch (error) {
      if (error instanceof TokenError)
        response.setHeader('www-authenticate', error.wwwAuthenticate);
      response.writeHead(
        error instanceof TokenError ? error.status : error instanceof WebhookError ? 401 : 500,
      );
      response.end();
    }
  });
}
