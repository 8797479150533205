/** The metadata of the authorization server (RFC 8414). */
import { readSecureUrl } from '../addresses.ts';
import { ConnectionError } from '../errors.ts';
import { plainText } from '../plain-text.ts';
import type { Platform } from '../platform.ts';
import { readError, readJson, redirectOf } from '../response.ts';
import type { Retry } from '../retry.ts';

export interface ServerMetadata {
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string;
  /** Its answers to authorization requests name it as `iss` (RFC 9207). */
  readonly namesIssuer: boolean;
}

const maxAnswerBytes = 256 * 1024;

export function discover(
  issuer: string,
  { fetch }: Pick<Platform, 'fetch'>,
  retry: Retry,
): Promise<ServerMetadata> {
  return retry({ repeat: 'always' }, async (signal) => {
    const response = await fetch(`${issuer}/.well-known/oauth-authorization-server`, {
      headers: { accept: 'application/json' },
      redirect: 'manual',
      signal,
    });
    if (response.status === 429 || response.status === 503) return { refused: response };
    const redirect = redirectOf(response);
    if (redirect) throw redirect;
    if (!response.ok) throw await readError(response);
    return { result: readMetadata(issuer, await readJson(response, maxAnswerBytes)) };
  });
}

function readMetadata(issuer: string, answer: unknown): ServerMetadata {
  const metadata = (typeof answer === 'object' && answer !== null ? answer : {}) as Readonly<
    Record<string, unknown>
  >;
  const invalid = (problem: string) =>
    new ConnectionError('invalid_response', `the metadata of ${issuer} cannot be used: ${problem}`);
  if (metadata.issuer !== issuer)
    throw invalid(
      `they are of ${plainText(String(metadata.issuer))}; give \`issuer\` exactly as the server names itself`,
    );
  const { code_challenge_methods_supported: methods } = metadata;
  if (!Array.isArray(methods) || !methods.includes('S256'))
    throw invalid('the server does not support PKCE with S256');
  const endpoint = (name: string): string => {
    const value = metadata[name];
    if (typeof value !== 'string') throw invalid(`${name} is missing`);
    try {
      return readSecureUrl(value, name).href;
    } catch (error) {
      throw invalid((error as Error).message);
    }
  };
  return {
    authorizationEndpoint: endpoint('authorization_endpoint'),
    tokenEndpoint: endpoint('token_endpoint'),
    ...(metadata.revocation_endpoint !== undefined && {
      revocationEndpoint: endpoint('revocation_endpoint'),
    }),
    namesIssuer: metadata.authorization_response_iss_parameter_supported === true,
  };
}
