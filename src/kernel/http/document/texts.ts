/** Sentences of the document: what an operation needs, and what a parameter is. */
import type { RouteEntry } from '../route.ts';

/** Field descriptions are phrases, because validation messages end with them ("must be a UUID"). */
export function sentence(phrase: string): string {
  const text = phrase.trim();
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?:]$/.test(capital) ? capital : `${capital}.`;
}

export const operationText = (entry: RouteEntry): string =>
  [entry.description ?? '', needs(entry), ownLimit(entry), uncounted(entry)].filter(Boolean).join(' ');

function needs({ access }: RouteEntry): string {
  switch (access.kind) {
    case 'scope':
      return `Needs a token with the scope \`${access.scope}\`.`;
    case 'clientOrScope':
      return `Needs a token with the scope \`${access.scope}\`, or client credentials of an agent that may hold it.`;
    case 'clientOrBearer':
      return 'Needs a token with any scope, client credentials, or the `client_id` of a public client.';
    case 'policy':
      return access.scope
        ? `Needs a token with the scope \`${access.scope}\`, and the policies must permit \`${access.action}\`.`
        : `Needs a token, and the policies must permit \`${access.action}\`.`;
    case 'bearer':
      return access.ownOnly
        ? 'Needs a token of the agent itself, with any scope; a delegated token is refused.'
        : 'Needs a token, with any scope.';
    case 'client':
      return 'The request carries its own credentials instead of a token.';
    case 'resourceToken':
      return 'Needs an access token for the API that the address names.';
    case 'secret':
      return 'Needs the token that the operator has set, if any.';
    case 'session':
      return 'Needs the session cookie of the console.';
    case 'open':
      return 'Needs no token.';
  }
}

const ownLimit = ({ limit }: RouteEntry): string =>
  typeof limit === 'object' ? `At most ${limit.perMinute} requests a minute for each ${limit.per}.` : '';

const uncounted = ({ quota }: RouteEntry): string =>
  quota === 'free' ? "The call does not count against the plan's calls a day." : '';

const words = (name: string): string =>
  name.replaceAll('_', ' ').replaceAll(/[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`);

/** An optional parameter without a description is a filter. */
export const filterText = (name: string): string => `Only entries with this ${words(name)}.`;

const nouns: Readonly<Record<string, string>> = {
  org: 'organization',
  resource: 'API',
  chain: 'delegation chain',
};

/** `/webhooks/:id` → the id of the webhook; `/agents/:agentId` → the id of the agent. */
export function pathParameterText(name: string, path: string): string {
  const word =
    name === 'id' ? (/([^/]+)s\/:id\b/.exec(path)?.[1] ?? 'object') : words(name.replace(/Id$/, ''));
  return `The id of the ${nouns[word] ?? word}.`;
}
