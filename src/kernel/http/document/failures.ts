/** The error responses of an operation: one per status, with the codes that it can have. */
import { type ErrorCode, errors, type TokenErrorCode, tokenErrors } from '../../../contract/errors.ts';
import type { RouteEntry } from '../route.ts';
import { sentence } from './texts.ts';

const json = 'application/json';
const refTo = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

/** The entry's own errors, and those that follow from its access and schema. */
export function errorsOf({ access, schema, quota, idempotent, errors: own = [] }: RouteEntry): ErrorCode[] {
  const identified = !['open', 'client', 'secret', 'resourceToken'].includes(access.kind);
  const codes: ErrorCode[] = [
    ...(schema.params || schema.query || schema.body ? (['VALIDATION_ERROR'] as const) : []),
    ...(identified ? (['UNAUTHORIZED', 'ORG_SUSPENDED'] as const) : []),
    ...('scope' in access && access.scope ? (['INSUFFICIENT_SCOPE'] as const) : []),
    ...(access.kind === 'policy' ? (['FORBIDDEN'] as const) : []),
    ...('scopedParameters' in access && access.scopedParameters ? (['INSUFFICIENT_SCOPE'] as const) : []),
    ...own,
    ...(idempotent ? (['IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_KEY_MISMATCH'] as const) : []),
    'RATE_LIMIT_EXCEEDED',
    ...(identified && quota !== 'free' ? (['tier_limit_exceeded'] as const) : []),
  ];
  return [...new Set(codes)];
}

/** References to components: most operations share their error responses. */
export const failuresOf = (entry: RouteEntry): Record<string, object> =>
  Object.fromEntries(
    Object.entries(responsesOf(entry)).map(([status, { name }]) => [status, refTo('responses', name)]),
  );

export const failureComponents = (routes: readonly RouteEntry[]): Record<string, object> =>
  Object.fromEntries(
    routes.flatMap((entry) =>
      Object.values(responsesOf(entry)).map(({ name, response }) => [name, response]),
    ),
  );

interface NamedResponse {
  readonly name: string;
  readonly response: object;
}

const responsesOf = (entry: RouteEntry): Record<string, NamedResponse> =>
  entry.failures === 'oauth' ? oauthFailures : envelopeFailures(entry);

function envelopeFailures(entry: RouteEntry): Record<string, NamedResponse> {
  const byStatus = Map.groupBy(errorsOf(entry), (code) => errors[code].status);
  return {
    ...Object.fromEntries(
      [...byStatus].map(([status, codes]) => [
        String(status),
        {
          name: codes.join('.'),
          response: {
            ...envelopeResponse(
              codes,
              codes.map((code) => `\`${code}\`: ${errors[code].message}`).join('\n\n'),
            ),
            ...(status === 429 && { headers: rateHeaders }),
          },
        },
      ]),
    ),
    ...anyFailure,
  };
}

const envelopeResponse = (codes: readonly ErrorCode[], description: string) => ({
  description,
  content: {
    [json]: {
      schema: refTo('schemas', 'Error'),
      examples: Object.fromEntries(codes.map((code) => [code, refTo('examples', code)])),
    },
  },
});

/** Statuses that any operation can have, such as 405, 413, 415 and 503. */
const anyFailure: Record<string, NamedResponse> = {
  '4XX': {
    name: 'Refused',
    response: envelopeResponse(
      ['METHOD_NOT_ALLOWED'],
      'Another refusal, such as a wrong method, a body that is too large, or a wrong Content-Type.',
    ),
  },
  '5XX': {
    name: 'Failed',
    response: envelopeResponse(
      ['INTERNAL_SERVER_ERROR'],
      'A failure of the server. Nothing was changed; try again.',
    ),
  },
};

const oauthTexts: Readonly<Record<TokenErrorCode, string>> = {
  unsupported_grant_type: 'The grant type is missing or unknown, or the form is malformed.',
  invalid_client: 'The client is unknown, or its secret or assertion is wrong.',
  unauthorized_client: 'The client is not active, or a limit of its plan is reached.',
  invalid_request: 'A parameter is missing, malformed or given twice.',
  invalid_grant: 'The presented token or assertion is not accepted.',
  invalid_scope: 'A requested scope exceeds what may be granted.',
  invalid_target: 'The requested API or audience is not allowed.',
  invalid_authorization_details:
    'A detail of the action is malformed, of an unknown type, or was not approved; the description names the place.',
  authorization_pending: 'No one has decided yet: ask again after `interval` seconds.',
  slow_down: 'The client asks too often: the interval is now five seconds longer.',
  access_denied: 'The request was denied or canceled.',
  expired_token: 'The request has lapsed without a decision.',
  unknown_user_id: 'No person who can decide is meant by `login_hint`.',
  invalid_binding_message: 'The message is too long, or has characters that cannot be shown safely.',
  invalid_dpop_proof:
    'The proof in the header DPoP is not valid or was used before, or the agent demands one.',
  use_dpop_nonce: 'The proof needs the nonce of the header DPoP-Nonce: repeat the request with it.',
};

const oauthResponse = (name: string, codes: readonly string[], description: string): NamedResponse => ({
  name,
  response: {
    description,
    content: {
      [json]: {
        schema: refTo('schemas', 'TokenError'),
        examples: Object.fromEntries(codes.map((code) => [code, refTo('examples', code)])),
      },
    },
  },
});

const oauthFailures: Record<string, NamedResponse> = {
  ...Object.fromEntries(
    [...Map.groupBy(Object.keys(tokenErrors) as TokenErrorCode[], (code) => tokenErrors[code])].map(
      ([status, codes]) => [
        String(status),
        oauthResponse(
          `TokenError${status}`,
          codes,
          codes.map((code) => `\`${code}\`: ${oauthTexts[code]}`).join('\n\n'),
        ),
      ],
    ),
  ),
  429: oauthResponse(
    'TokenRateLimit',
    ['token_rate_limit'],
    'Too many requests; wait until the time in X-RateLimit-Reset.',
  ),
  '4XX': oauthResponse(
    'TokenRefused',
    ['invalid_request'],
    'Another refusal, such as a form that is too large.',
  ),
  '5XX': oauthResponse(
    'TokenFailed',
    ['server_error'],
    'A failure of the server. No token was issued; try again.',
  ),
};

const headerNames = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-Request-Id'];

/** On every response; repeated in the document only where clients act on them. */
export const rateHeaders = Object.fromEntries(headerNames.map((name) => [name, refTo('headers', name)]));

const integerHeader = (description: string, example: number) => ({
  description,
  schema: { type: 'integer' },
  example,
});

export const headerComponents = {
  'X-RateLimit-Limit': integerHeader('Requests that the client may send in one minute.', 100),
  'X-RateLimit-Remaining': integerHeader('Requests that are left in this minute.', 99),
  'X-RateLimit-Reset': integerHeader('The end of this minute, in seconds since 1970.', 1_896_091_260),
  'X-Request-Id': {
    description: 'The id of the request in the log. A client may send its own: 8 to 64 of A-Z a-z 0-9 _ . -',
    schema: { type: 'string' },
    example: '4f9c2d1e-7b3a-4c5d-9e8f-1a2b3c4d5e6f',
  },
};

export const failureExamples: Readonly<Record<string, object>> = {
  ...Object.fromEntries(
    Object.entries(errors).map(([code, { message }]) => [
      code,
      {
        summary: code,
        value: {
          code,
          message,
          ...(code === 'VALIDATION_ERROR' && {
            message: 'version must be a semantic version such as 1.4.0',
            details: {
              fields: [{ in: 'body', field: 'version', message: 'must be a semantic version such as 1.4.0' }],
            },
          }),
        },
      },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(oauthTexts).map(([error, text]) => [
      error,
      { summary: error, value: { error, error_description: sentence(text) } },
    ]),
  ),
  token_rate_limit: {
    summary: 'RATE_LIMIT_EXCEEDED',
    value: {
      error: 'RATE_LIMIT_EXCEEDED',
      code: 'RATE_LIMIT_EXCEEDED',
      message: errors.RATE_LIMIT_EXCEEDED.message,
    },
  },
  server_error: {
    summary: 'server_error',
    value: {
      error: 'server_error',
      error_description: errors.INTERNAL_SERVER_ERROR.message,
      code: 'INTERNAL_SERVER_ERROR',
      message: errors.INTERNAL_SERVER_ERROR.message,
    },
  },
};
