/** The bearer token of a request, and the challenge of a refusal (RFC 6750). */
import { TokenError, type TokenErrorCode } from '../errors.ts';

type HeaderRecord = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A Request or Headers of the web, or a request of Node.js: Express, or `request.raw` of Fastify. */
export type IncomingRequest =
  | Headers
  | { readonly headers: Headers | HeaderRecord; readonly rawHeaders?: readonly string[] };

/** Builds the refusals of one verification. */
export type Refuse = (code: TokenErrorCode, message: string, cause?: unknown) => TokenError;

export interface Challenge {
  readonly scopes: readonly string[];
  /** The address of the metadata of the protected resource (RFC 9728). */
  readonly resourceMetadata?: string | undefined;
}

const statuses: Readonly<Record<TokenErrorCode, 401 | 403 | 503>> = {
  invalid_token: 401,
  invalid_request: 401,
  insufficient_scope: 403,
  insufficient_authorization_details: 403,
  temporarily_unavailable: 503,
};
const maxTokenLength = 16_384;
const maxDescriptionLength = 200;

export const createRefusal =
  (challenge: Challenge): Refuse =>
  (code, message, cause) => {
    const wwwAuthenticate = challengeText(challenge, {
      error: code,
      error_description: message.slice(0, maxDescriptionLength),
    });
    return new TokenError(statuses[code], code, message, { wwwAuthenticate, cause });
  };

/** Without an error code, because the request has no token (RFC 6750 §3.1). */
const refuseMissing = (challenge: Challenge, message: string): TokenError =>
  new TokenError(401, 'invalid_token', message, { wwwAuthenticate: challengeText(challenge, {}) });

function challengeText(
  { scopes, resourceMetadata }: Challenge,
  error: Readonly<Record<string, string>>,
): string {
  const parameters = {
    ...error,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    ...(resourceMetadata !== undefined && { resource_metadata: resourceMetadata }),
  };
  const text = Object.entries(parameters).map(([name, value]) => `${name}="${quotable(value)}"`);
  return ['Bearer', text.join(', ')].filter(Boolean).join(' ');
}

/** Only characters that a parameter may have (RFC 6750 §3): a message may contain text of the token. */
const quotable = (text: string): string =>
  text.replaceAll('"', "'").replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?');

/** The only token of the request. Two headers are refused: another program may have checked the other one. */
export function readBearerToken(source: IncomingRequest | string, challenge: Challenge): string {
  const refuse = createRefusal(challenge);
  if (typeof source === 'string') return readToken(source, refuse);
  if (typeof source !== 'object' || source === null)
    throw new TypeError('verify needs a token, a Request, Headers, or an object with headers');
  const [header, ...others] = authorizationIn(source);
  if (header === undefined) throw refuseMissing(challenge, 'the request has no Authorization header');
  if (others.length > 0) throw refuse('invalid_request', 'the request has several Authorization headers');
  const [, token] = /^bearer +(.*)$/is.exec(header) ?? [];
  if (token === undefined)
    throw refuseMissing(challenge, 'the Authorization header has no token of the type Bearer');
  return readToken(token, refuse);
}

function readToken(token: string, refuse: Refuse): string {
  if (token.length > maxTokenLength)
    throw refuse('invalid_request', `the token is longer than ${maxTokenLength} characters`);
  if (!/^[\w.~+/-]+=*$/.test(token))
    throw refuse(
      token.includes(',') ? 'invalid_request' : 'invalid_token',
      'the Authorization header must have one token',
    );
  return token;
}

function authorizationIn(source: IncomingRequest): readonly string[] {
  // Node.js keeps only the first of several headers in `headers`.
  if ('rawHeaders' in source && Array.isArray(source.rawHeaders))
    return source.rawHeaders.filter(
      (_, index, all) => index % 2 === 1 && all[index - 1]?.toLowerCase() === 'authorization',
    );
  // A request of Express has a function `get`, too.
  const headers = 'headers' in source ? source.headers : source;
  if (isHeaders(headers)) return fromHeaders(headers);
  return Object.entries(headers).flatMap(([name, value]) =>
    name.toLowerCase() === 'authorization' && value !== undefined ? value : [],
  );
}

const isHeaders = (value: Headers | HeaderRecord): value is Headers => typeof value.get === 'function';

const fromHeaders = (headers: Headers): readonly string[] => {
  const value = headers.get('authorization');
  return value === null ? [] : [value];
};
