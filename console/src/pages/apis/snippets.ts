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

export function snippetsFor(
  { identifier, scopes }: Pick<Resource, 'identifier' | 'scopes'>,
  issuer: string,
): Snippet[] {
  const scope = scopes[0]?.name ?? 'read';
  return [
    { id: 'node', label: 'Node.js', text: nodeJs(issuer, identifier, scope) },
    { id: 'python', label: 'Python', text: python(issuer, identifier, scope) },
    { id: 'token', label: 'Get a token', text: tokenRequest(issuer, identifier) },
    { id: 'introspect', label: 'Introspect', text: introspection(issuer) },
  ];
}

const nodeJs = (issuer: string, audience: string, scope: string): string => `// npm install jose
import { createRemoteJWKSet, jwtVerify } from 'jose';

const issuer = ${literal(issuer)};
const audience = ${literal(audience)};
const keys = createRemoteJWKSet(new URL(\`\${issuer}/.well-known/jwks.json\`));

/** The claims of a valid token with this scope. Answer 401 or 403 when it throws. */
export async function requireToken(authorization, scope = ${literal(scope)}) {
  const token = /^Bearer (\\S+)$/i.exec(authorization ?? '')?.[1];
  if (!token) throw Object.assign(new Error('no token'), { status: 401 });
  const { payload } = await jwtVerify(token, keys, {
    issuer,
    audience,
    typ: 'at+jwt',
    algorithms: ['RS256', 'ES256', 'EdDSA'],
  }).catch((cause) => {
    throw Object.assign(new Error('invalid token', { cause }), { status: 401 });
  });
  if (!payload.scope.split(' ').includes(scope))
    throw Object.assign(new Error('insufficient scope'), { status: 403 });
  return payload;
}
`;

const python = (issuer: string, audience: string, scope: string): string => `# pip install "pyjwt[crypto]"
import jwt

ISSUER = ${literal(issuer)}
AUDIENCE = ${literal(audience)}
keys = jwt.PyJWKClient(f"{ISSUER}/.well-known/jwks.json")


def require_token(token: str, scope: str = ${literal(scope)}) -> dict:
    """The claims of a valid token with this scope. Answer 401 or 403 when it raises."""
    if jwt.get_unverified_header(token).get("typ") != "at+jwt":
        raise jwt.InvalidTokenError("not an access token")
    key = keys.get_signing_key_from_jwt(token)
    claims = jwt.decode(
        token,
        key.key,
        algorithms=[key.algorithm_name],
        issuer=ISSUER,
        audience=AUDIENCE,
        options={"require": ["exp", "iss", "aud", "client_id", "scope"]},
    )
    if scope not in claims["scope"].split(" "):
        raise PermissionError("insufficient scope")
    return claims
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
