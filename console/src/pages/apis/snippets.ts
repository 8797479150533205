/** Code that verifies the tokens of an API, filled in with its values. The guide has complete programs. */
import type { Resource } from '../../api/generated.ts';

interface Snippet {
  readonly id: string;
  readonly label: string;
  readonly text: string;
}

/** A string literal of JavaScript, Python and Go. */
const literal = (text: string): string => JSON.stringify(text);
/** A word of a shell. */
const word = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

interface Instance {
  readonly issuer: string;
  readonly audience: string;
  readonly organizationId: string;
}

export function snippetsFor(
  { identifier, organizationId, scopes }: Pick<Resource, 'identifier' | 'organizationId' | 'scopes'>,
  issuer: string,
): Snippet[] {
  const scope = scopes[0]?.name ?? 'read';
  const instance = { issuer, audience: identifier, organizationId };
  return [
    { id: 'node', label: 'Node.js', text: nodeJs(instance, scope) },
    { id: 'python', label: 'Python', text: python(instance, scope) },
    { id: 'token', label: 'Get a token', text: tokenRequest(issuer, identifier) },
    { id: 'introspect', label: 'Introspect', text: introspection(issuer) },
  ];
}

const nodeJs = (
  { issuer, audience, organizationId }: Instance,
  scope: string,
): string => `// Install the SDK from the repository: docs/guides/typescript-sdk.md
import { createClient, createVerifier } from '@countersign/sdk';

const issuer = ${literal(issuer)};
// This API's own credential: an agent with the scope tokens:read.
const { CLIENT_ID: clientId = '', CLIENT_SECRET: auth = '' } = process.env;
const client = createClient({ issuer, clientId, auth });
const verifier = createVerifier({
  issuer,
  audience: ${literal(audience)},
  organizationId: ${literal(organizationId)},
  subjects: 'agents',
  // Ended tokens are refused within a second.
  revocation: 'signals',
  signals: { client, whenSilent: 'introspect' },
});

/** The agent that calls. Answer with \`error.status\` and \`error.wwwAuthenticate\` when it throws. */
export const requireToken = (request, scope = ${literal(scope)}) =>
  verifier.verify(request, { scopes: [scope] });
`;

const python = (
  { issuer, audience, organizationId }: Instance,
  scope: string,
): string => `# Install the SDK from the repository: docs/guides/python-sdk.md
import os

from countersign import Client, Signals, Verifier

ISSUER = ${literal(issuer)}
# This API's own credential: an agent with the scope tokens:read.
client = Client(ISSUER, os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"])
verifier = Verifier(
    ISSUER,
    ${literal(audience)},
    ${literal(organizationId)},
    subjects="agents",
    # Ended tokens are refused within a second.
    revocation="signals",
    signals=Signals(client, when_silent="introspect"),
)


def require_token(method: str, url: str, headers, scope: str = ${literal(scope)}):
    """The agent that calls. Answer with error.status and error.www_authenticate when it raises."""
    # Tokens that are bound to a key need the method and the address of the request.
    return verifier.verify(headers, scopes=scope, method=method, url=url)
`;

const tokenRequest = (
  issuer: string,
  audience: string,
): string => `# As an agent that holds a grant for this API
curl ${word(`${issuer}/api/v1/token`)} \\
  -u "$CLIENT_ID:$CLIENT_SECRET" \\
  -d grant_type=client_credentials \\
  --data-urlencode ${word(`resource=${audience}`)}
`;

const introspection = (
  issuer: string,
): string => `# Sees revocations at once. As an agent that may hold tokens:read
curl ${word(`${issuer}/api/v1/token/introspect`)} \\
  -u "$CLIENT_ID:$CLIENT_SECRET" \\
  --data-urlencode "token=$ACCESS_TOKEN"
`;
