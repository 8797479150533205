import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { agent } from './agent.ts';
import { createClient, createVerifier, type Verifier, verifyWebhook } from './countersign/sdk.ts';
import { createApi } from './server.ts';

const usage = `usage:
  npm start                                      show who this agent is
  npm start -- serve                             accept tokens and webhooks on PORT
  npm start -- token <access token>              check a token that was presented to this agent
  npm start -- webhook <timestamp> <signature>   check a delivery, its body on standard input`;

class UsageError extends Error {}

function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; copy .env.example to .env and fill it in`);
  return value;
}

const apiUrl = () => setting('API_URL').replace(/\/+$/, '');

const client = () =>
  createClient({
    issuer: apiUrl(),
    clientId: setting('CLIENT_ID'),
    auth: setting('CLIENT_SECRET'),
  });

/** Tokens of the agent's own organization only, unless the settings say otherwise. Tokens of agents that act for a person are refused. */
function tokensFor(audience: string) {
  const tokens = { issuer: apiUrl(), audience, subjects: 'agents' } as const;
  const acceptAny = process.env.ACCEPT_ANY_ORGANIZATION || 'false';
  if (acceptAny !== 'true' && acceptAny !== 'false') {
    throw new Error('ACCEPT_ANY_ORGANIZATION must be true or false');
  }
  return acceptAny === 'true'
    ? { ...tokens, acceptAnyOrganization: true as const }
    : { ...tokens, organizationId: setting('ORGANIZATION_ID') };
}

/** For commands, which look at one token, once. */
const verifier = (audience: string): Verifier =>
  createVerifier({ ...tokensFor(audience), revocation: 'none' });

/** For a server: it learns within a second which tokens have ended. The agent needs the scope tokens:read. */
const signalsVerifier = (audience: string) =>
  createVerifier({
    ...tokensFor(audience),
    revocation: 'signals',
    signals: { client: client(), whenSilent: 'introspect' },
  });

async function whoAmI(): Promise<void> {
  const { api, token } = client();
  const me = await api.getAgent({ agentId: setting('CLIENT_ID') });
  console.log(`I am ${me.email} (${me.agentId}), a ${me.agentType} in ${me.deploymentEnv}.`);

  // As every receiver of this token does: it was issued for the API, so that is its audience.
  const { scopes } = await verifier(apiUrl()).verify(await token());
  console.log(`My token is genuine and carries: ${scopes.join(' ') || 'no scope'}.`);

  const { name: _, ...known } = agent;
  for (const field of Object.keys(known) as (keyof typeof known)[]) {
    if (!isDeepStrictEqual(known[field], me[field])) {
      console.log(`The registry says something else about ${field} than src/agent.ts.`);
    }
  }
}

const ownAudience = () => process.env.TOKEN_AUDIENCE || apiUrl();

/** Until a signal of the operating system ends it. */
async function serve(): Promise<void> {
  const checking = signalsVerifier(ownAudience());
  const server = createApi(checking, () => setting('WEBHOOK_SECRET'));
  server.listen(Number(process.env.PORT || 8080));
  await once(server, 'listening');
  console.log(`listening on ${JSON.stringify(server.address())}`);
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => {
      server.close();
      void checking.close();
    });
}

async function checkToken(token: string): Promise<void> {
  const { verify } = verifier(ownAudience());
  const { agentId, subject, actors, chainId, scopes, organizationId } = await verify(token);
  console.log(
    `The token is genuine. It was issued to ${agentId} of organization ${organizationId} and carries: ${scopes.join(' ') || 'no scope'}.`,
  );
  if (chainId !== undefined) {
    console.log(
      `It is delegated by ${subject.id} in chain ${chainId}; actors: ${actors.join(', ')}.`,
    );
  }
}

async function checkWebhook(timestamp: string, signature: string): Promise<void> {
  const body = await buffer(process.stdin);
  const headers = { 'x-service-timestamp': timestamp, 'x-service-signature-256': signature };
  await verifyWebhook(body, headers, setting('WEBHOOK_SECRET'));
  console.log('The delivery is genuine.');
}

async function main([command, ...args]: string[]): Promise<void> {
  if (command === undefined) return whoAmI();
  if (command === 'serve') return serve();
  const [first, second] = args;
  if (command === 'token' && first !== undefined) return checkToken(first);
  if (command === 'webhook' && first !== undefined && second !== undefined) {
    return checkWebhook(first, second);
  }
  throw new UsageError(usage);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof UsageError) {
    console.error(error.message);
    process.exitCode = 2;
  } else {
    console.error(`error: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
