/** The token of a request, and the challenge of a refusal (RFC 6750, RFC 9449). */
import { TokenError, type TokenErrorCode } from '../errors.ts';

type HeaderRecord = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * A Request or Headers of the web, or a request of Node.js: Express, or `request.raw` of Fastify. A proof needs the method and the address,
 * too.
 */
export type IncomingRequest = Headers | RequestWithHeaders;

export interface RequestWithHeaders {
  readonly headers: Headers | HeaderRecord;
  readonly rawHeaders?: readonly string[] | undefined;
  readonly method?: string | undefined;
  /** An address or a path. */
  readonly url?: string | undefined;
  /** As Express has it: `url` before routers have shortened it. */
  readonly originalUrl?: string | undefined;
  /** The body as it arrived, for `content_digest` of a proof. `body` counts, too, if it is text or bytes. */
  readonly rawBody?: RawBody | (() => RawBody | Promise<RawBody>);
  readonly body?: unknown;
}

export type RawBody = string | Uint8Array | undefined;

/** Builds the refusals of one verification. */
export type Refuse = (code: TokenErrorCode, message: string, cause?: unknown) => TokenError;

export interface Challenge {
  readonly scopes: readonly string[];
  /** The address of the metadata of the protected resource (RFC 9728). */
  readonly resourceMetadata?: string | undefined;
  /** `DPoP` when the request has such a token, or must have one. */
  readonly scheme?: Scheme;
}

export type Scheme = 'Bearer' | 'DPoP';

export interface PresentedToken {
  readonly scheme: Scheme;
  readonly token: string;
}

/** Of proofs. Those of client assertions, and no symmetric one. */
export const proofAlgorithms = [
  ...['ES256', 'ES384', 'EdDSA', 'Ed25519'],
  ...['PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'],
];

const statuses: Readonly<Record<TokenErrorCode, 401 | 403 | 503>> = {
  invalid_token: 401,
  invalid_dpop_proof: 401,
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
  { scopes, resourceMetadata, scheme = 'Bearer' }: Challenge,
  error: Readonly<Record<string, string>>,
): string {
  const parameters = {
    ...error,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    ...(resourceMetadata !== undefined && { resource_metadata: resourceMetadata }),
    ...(scheme === 'DPoP' && { algs: proofAlgorithms.join(' ') }),
  };
  const text = Object.entries(parameters).map(([name, value]) => `${name}="${quotable(value)}"`);
  return [scheme, text.join(', ')].filter(Boolean).join(' ');
}

/** Only characters that a parameter may have (RFC 6750 §3): a message may contain text of the token. */
const quotable = (text: string): string =>
  text.replaceAll('"', "'").replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?');

/** The only token of the request. Two headers are refused: another program may have checked the other one. */
export function readPresentedToken(source: IncomingRequest | string, challenge: Challenge): PresentedToken {
  const refuse = createRefusal(challenge);
  if (typeof source === 'string') return { scheme: 'Bearer', token: readToken(source, refuse) };
  if (typeof source !== 'object' || source === null)
    throw new TypeError('verify needs a token, a Request, Headers, or an object with headers');
  const [header, ...others] = headersNamed(source, 'authorization');
  if (header === undefined) throw refuseMissing(challenge, 'the request has no Authorization header');
  if (others.length > 0) throw refuse('invalid_request', 'the request has several Authorization headers');
  const [, name = '', token] = /^(bearer|dpop) +(.*)$/is.exec(header) ?? [];
  if (token === undefined)
    throw refuseMissing(challenge, 'the Authorization header has no token of the type Bearer');
  const scheme = name.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer';
  return { scheme, token: readToken(token, createRefusal({ ...challenge, scheme })) };
}

export function readBearerToken(source: IncomingRequest): string {
  const challenge = { scopes: [] };
  const { scheme, token } = readPresentedToken(source, challenge);
  if (scheme === 'Bearer') return token;
  throw refuseMissing(challenge, 'the Authorization header has no token of the type Bearer');
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

export function headersNamed(source: IncomingRequest, header: string): readonly string[] {
  // Node.js keeps only the first of several headers in `headers`.
  if ('rawHeaders' in source && Array.isArray(source.rawHeaders))
    return source.rawHeaders.filter(
      (_, index, all) => index % 2 === 1 && all[index - 1]?.toLowerCase() === header,
    );
  // A request of Express has a function `get`, too.
  const headers = 'headers' in source ? source.headers : source;
  if (isHeaders(headers)) return fromHeaders(headers, header);
  return Object.entries(headers).flatMap(([name, value]) =>
    name.toLowerCase() === header && value !== undefined ? value : [],
  );
}

const isHeaders = (value: Headers | HeaderRecord): value is Headers => typeof value.get === 'function';

const fromHeaders = (headers: Headers, name: string): readonly string[] => {
  const value = headers.get(name);
  return value === null ? [] : [value];
};
