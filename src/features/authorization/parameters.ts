/** The parameters of the authorization endpoint, from a query or a form. It looks nothing up. */

import type { AuthorizationDetails } from '../../contract/authorization-details.ts';
import { limits } from '../../contract/limits.ts';
import { audienceOf } from '../../kernel/audience.ts';
import { describeProblem, parseAuthorizationDetails } from '../../kernel/http/input/authorization-details.ts';
import { refuse, UnusableRequest } from './authorization-error.ts';

/** A repeated parameter is a list. */
export type Parameters = Readonly<Record<string, unknown>>;

export interface RequestedAuthorization {
  readonly codeChallenge: string;
  /** RFC 9449 §10: the thumbprint of the key that the code is bound to. */
  readonly dpopJkt: string | null;
  /** The audience: our issuer, or the identifier of a resource. */
  readonly resource: string;
  /** Null: all that the person may lend. Without the parameter, details of an action say it all. */
  readonly scopes: readonly string[] | null;
  /** Their types are not checked yet. */
  readonly authorizationDetails: AuthorizationDetails | null;
  readonly state: string | null;
  readonly prompt: readonly Prompt[];
  readonly loginHint: string | null;
  /** The slug or id of an organization. */
  readonly organization: string | undefined;
}

const prompts = ['none', 'login', 'consent'] as const;
export type Prompt = (typeof prompts)[number];

const maxLengths = { client_id: 2_048, redirect_uri: 2_048, login_hint: 320, organization: 255 } as const;
const maxScopeText = limits.resource.maxScopes * (limits.resource.maxScopeLength + 1);

/** RFC 6749 §3.1: a parameter without a value counts as left out. */
const read = (parameters: Parameters, name: string): string | undefined => {
  const value = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
};

const isRepeated = (parameters: Parameters, name: string): boolean =>
  Object.hasOwn(parameters, name) && Array.isArray(parameters[name]);

/** Until the client and its redirect URI are known, a problem is shown on a page. */
function readTrusted(parameters: Parameters, name: 'client_id' | 'redirect_uri'): string | undefined {
  if (isRepeated(parameters, name)) throw new UnusableRequest(`${name} is given more than once.`);
  const value = read(parameters, name);
  if (value !== undefined && value.length > maxLengths[name])
    throw new UnusableRequest(`${name} is too long.`);
  return value;
}

export const readClientId = (parameters: Parameters): string => {
  const clientId = readTrusted(parameters, 'client_id');
  if (clientId === undefined) throw new UnusableRequest('client_id is missing.');
  return clientId;
};

/** Undefined when the request leaves it out. */
export const readRedirectUri = (parameters: Parameters): string | undefined =>
  readTrusted(parameters, 'redirect_uri');

/** For answers to a request that may be malformed otherwise. */
export const readState = (parameters: Parameters): string | null => {
  const state = read(parameters, 'state');
  return state !== undefined && state.length <= limits.maxStateLength ? state : null;
};

/** AuthorizationError for the first problem. */
export function readRequest(parameters: Parameters, issuer: string): RequestedAuthorization {
  const repeated = Object.keys(parameters).find(
    (name) => name !== 'resource' && isRepeated(parameters, name),
  );
  if (repeated !== undefined) refuse('invalid_request', `${nameOf(repeated)} is given more than once`);
  const value = (name: string) => read(parameters, name);
  requireCode(value('response_type'), value('response_mode'));
  for (const name of ['request', 'request_uri'])
    if (value(name) !== undefined) refuse('invalid_request', `${name} is not supported`);
  if ((value('state')?.length ?? 0) > limits.maxStateLength)
    refuse('invalid_request', `state is longer than ${limits.maxStateLength} characters`);
  const authorizationDetails = readDetails(value('authorization_details'));
  return {
    codeChallenge: readChallenge(value('code_challenge'), value('code_challenge_method')),
    dpopJkt: readThumbprint(value('dpop_jkt')),
    prompt: readPrompt(value('prompt')),
    loginHint: readShort('login_hint', value('login_hint')) ?? null,
    organization: readShort('organization', value('organization')),
    state: readState(parameters),
    resource: readResource(parameters, issuer),
    scopes: readScopes(value('scope')) ?? (authorizationDetails && []),
    authorizationDetails,
  };
}

function readDetails(text: string | undefined): AuthorizationDetails | null {
  if (text === undefined) return null;
  const read = parseAuthorizationDetails(text);
  return 'details' in read
    ? read.details
    : refuse('invalid_authorization_details', describeProblem(read.problem));
}

/** The client chooses the names of unknown parameters. */
const nameOf = (name: string): string => (/^\w{1,64}$/.test(name) ? name : 'a parameter');

function requireCode(responseType: string | undefined, responseMode: string | undefined): void {
  if (responseType === undefined) refuse('invalid_request', 'response_type is missing: it must be code');
  if (responseType !== 'code') refuse('unsupported_response_type', 'response_type must be code');
  if (responseMode !== undefined && responseMode !== 'query')
    refuse('invalid_request', 'response_mode must be query');
}

/** A challenge by S256 has 256 bits in base64url. */
function readChallenge(challenge: string | undefined, method: string | undefined): string {
  if (challenge === undefined)
    return refuse('invalid_request', 'code_challenge is missing: every client needs PKCE');
  if (method !== 'S256') return refuse('invalid_request', 'code_challenge_method must be S256');
  return /^[\w-]{43}$/.test(challenge)
    ? challenge
    : refuse('invalid_request', 'code_challenge must be 43 characters of base64url');
}

function readThumbprint(thumbprint: string | undefined): string | null {
  if (thumbprint === undefined) return null;
  return /^[\w-]{43}$/.test(thumbprint)
    ? thumbprint
    : refuse('invalid_request', 'dpop_jkt must be a thumbprint: 43 characters of base64url');
}

function readPrompt(text: string | undefined): readonly Prompt[] {
  const words = [...new Set((text ?? '').split(' ').filter(Boolean))];
  const known = words.filter((word): word is Prompt => (prompts as readonly string[]).includes(word));
  if (known.length < words.length) refuse('invalid_request', 'prompt can be none, login or consent');
  if (known.includes('none') && known.length > 1) refuse('invalid_request', 'prompt=none stands alone');
  return known;
}

function readShort(name: 'login_hint' | 'organization', value: string | undefined): string | undefined {
  if ((value?.length ?? 0) > maxLengths[name]) refuse('invalid_request', `${name} is too long`);
  return value;
}

function readResource(parameters: Parameters, issuer: string): string {
  if (isRepeated(parameters, 'resource')) return refuse('invalid_target', 'resource is given more than once');
  const resource = read(parameters, 'resource');
  if (resource === undefined) return refuse('invalid_target', 'resource is missing: name the API (RFC 8707)');
  const audience = resource.length > 1_024 ? undefined : audienceOf(resource, issuer);
  return audience ?? refuse('invalid_target', unknownResource);
}

/** The same for a resource that is unknown, pending or deleted. */
export const unknownResource = 'resource is no registered API';

function readScopes(text: string | undefined): readonly string[] | null {
  const words = [...new Set((text ?? '').split(' ').filter(Boolean))];
  const isValid = (text ?? '').length <= maxScopeText && words.every((word) => /^[!#-[\]-~]+$/.test(word));
  if (!isValid) refuse('invalid_scope', 'scope is malformed');
  return words.length === 0 ? null : words;
}
