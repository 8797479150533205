/**
 * Client ID metadata documents (draft-ietf-oauth-client-id-metadata-document): reads one, and keeps the little that is used of it.
 * Anybody can publish one, so its text is cleaned, and its members count only as far as the rules for registered clients allow.
 */

import { limits } from '../../contract/limits.ts';
import { cleanName } from '../../kernel/clean-name.ts';
import { redirectUriProblem } from '../../kernel/redirect-uri.ts';
import { urlProblem } from '../../kernel/url-problem.ts';
import type { StoredDocument } from '../agents/client-agents.ts';

/** As it is stored: it has no more than JSON can express. */
export interface ClientDocument extends StoredDocument {
  /** Null: none that is a semantic version. */
  readonly softwareVersion: string | null;
}

/** A document whose keys are still to be read. */
export interface ParsedDocument extends Omit<ClientDocument, 'keys'> {
  /** A JWK set, the address of one, or undefined for a public client. */
  readonly keySource: { readonly jwks: unknown } | { readonly jwksUri: string } | undefined;
}

/** The document cannot be used. The message is for people to read. */
export class DocumentProblem extends Error {
  override readonly name = 'DocumentProblem';
}

const refuse = (message: string): never => {
  throw new DocumentProblem(message);
};

function nameOf(text: unknown): string {
  if (typeof text !== 'string') return refuse('has no client_name');
  return cleanName(text) ?? refuse('has a client_name that shows nothing');
}

/** Those of a kind that we redirect to; a document may name others, such as schemes of an application. */
function redirectUrisOf(uris: unknown): string[] {
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === 'string'))
    return refuse('has no list of redirect_uris');
  if (uris.length > limits.redirectUrisPerAgent)
    return refuse(`has more than ${limits.redirectUrisPerAgent} redirect_uris`);
  const usable = [...new Set(uris)].filter((uri) => redirectUriProblem(uri) === undefined);
  return usable.length > 0
    ? usable
    : refuse('has no redirect_uris with https, or with http to this computer');
}

function keySourceOf({ jwks, jwks_uri: jwksUri }: Record<string, unknown>): ParsedDocument['keySource'] {
  if ((jwks === undefined) === (jwksUri === undefined))
    return refuse('must have jwks or jwks_uri, and not both, for private_key_jwt');
  if (jwksUri === undefined) return { jwks };
  if (typeof jwksUri !== 'string') return refuse('has a jwks_uri that is no text');
  const problem = urlProblem(jwksUri, { allowHttp: false, allowQuery: true });
  return problem === undefined ? { jwksUri } : refuse(`has a jwks_uri that ${problem}`);
}

const semanticVersion =
  /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

const versionOf = (version: unknown): string | null =>
  typeof version === 'string' && version.length <= 64 && semanticVersion.test(version) ? version : null;

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return refuse('is not JSON');
  }
}

/** DocumentProblem for a document that cannot be used. */
export function parseDocument(address: string, body: Buffer): ParsedDocument {
  const content = parseJson(body);
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return refuse('is no JSON object');
  const document = content as Record<string, unknown>;
  if (document.client_id !== address) return refuse('names another client_id than its address');
  const secret = Object.keys(document).find((member) => member.startsWith('client_secret'));
  if (secret !== undefined) return refuse('has a client_secret, which would be public');
  const method = document.token_endpoint_auth_method ?? 'none';
  if (method !== 'none' && method !== 'private_key_jwt')
    return refuse('has a token_endpoint_auth_method other than none and private_key_jwt');
  return {
    name: nameOf(document.client_name),
    redirectUris: redirectUrisOf(document.redirect_uris),
    publicClient: method === 'none',
    dpopBoundAccessTokens: document.dpop_bound_access_tokens === true,
    softwareVersion: versionOf(document.software_version),
    keySource: method === 'none' ? undefined : keySourceOf(document),
  };
}
