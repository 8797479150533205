/** The metadata of the authorization server (RFC 8414). */
import { readSecureUrl } from '../addresses.ts';
import { ConnectionError } from '../errors.ts';
import { plainText } from '../plain-text.ts';
import type { RequestLoop } from '../request-loop.ts';
import { discard, readFields } from '../response.ts';

/** Enough for clients that do not send a person to the server. */
export interface TokenServer {
  readonly tokenEndpoint: string;
  /** How clients authenticate at the token endpoint. */
  readonly authMethods: readonly string[];
}

export interface ServerMetadata {
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string;
  /** Its answers to authorization requests name it as `iss` (RFC 9207). */
  readonly namesIssuer: boolean;
}

const maxAnswerBytes = 256 * 1024;

/** The first document that exists, or the refusal of the last address. */
export async function getDocument(
  [address = '', ...others]: readonly string[],
  loop: RequestLoop,
): Promise<Readonly<Record<string, unknown>>> {
  const init = () => ({ headers: { accept: 'application/json' } });
  const document = await loop({ url: address, init, repeat: 'always' }, async (response) => {
    if (response.status !== 404 || others.length === 0) return readFields(response, maxAnswerBytes);
    discard(response);
    return undefined;
  });
  return document ?? getDocument(others, loop);
}

/** RFC 8414 §3.1, then OpenID Connect Discovery. The path of an issuer follows the well-known part, or stands before it. */
function metadataAddresses(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/+$/, '');
  const [oauth, openid] = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];
  const inserted = [`${origin}${oauth}${path}`, `${origin}${openid}${path}`];
  return path === '' ? inserted : [...inserted, `${origin}${path}${openid}`, `${origin}${path}${oauth}`];
}

export async function discover(issuer: string, loop: RequestLoop): Promise<ServerMetadata> {
  const { metadata, endpoint, invalid } = await readServer(issuer, loop);
  const { code_challenge_methods_supported: methods } = metadata;
  if (!Array.isArray(methods) || !methods.includes('S256'))
    throw invalid('the server does not support PKCE with S256');
  return {
    authorizationEndpoint: endpoint('authorization_endpoint'),
    tokenEndpoint: endpoint('token_endpoint'),
    ...(metadata.revocation_endpoint !== undefined && {
      revocationEndpoint: endpoint('revocation_endpoint'),
    }),
    namesIssuer: metadata.authorization_response_iss_parameter_supported === true,
  };
}

export async function discoverTokenServer(issuer: string, loop: RequestLoop): Promise<TokenServer> {
  const { metadata, endpoint } = await readServer(issuer, loop);
  return {
    tokenEndpoint: endpoint('token_endpoint'),
    authMethods: textsOf(metadata.token_endpoint_auth_methods_supported),
  };
}

async function readServer(issuer: string, loop: RequestLoop) {
  const metadata = await getDocument(metadataAddresses(issuer), loop);
  const invalid = (problem: string) =>
    new ConnectionError('invalid_response', `the metadata of ${issuer} cannot be used: ${problem}`);
  if (metadata.issuer !== issuer)
    throw invalid(
      `they are of ${plainText(String(metadata.issuer))}; give \`issuer\` exactly as the server names itself`,
    );
  const endpoint = (name: string): string => {
    const value = metadata[name];
    if (typeof value !== 'string') throw invalid(`${name} is missing`);
    try {
      return readSecureUrl(value, name).href;
    } catch (error) {
      throw invalid((error as Error).message);
    }
  };
  return { metadata, endpoint, invalid };
}

export const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
