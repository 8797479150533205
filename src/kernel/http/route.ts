/**
 * Routes are data. Every entry declares its access rule (`access`), its rate limit (`limit`) and its responses
 * (`schema.response`, which also filters out undeclared fields, and so secrets).
 */
import type { Static, TSchema } from 'typebox';
import type { PolicyAction } from '../../contract/actions.ts';
import type { ErrorCode, TokenErrorCode } from '../../contract/errors.ts';
import type { idempotentEvents } from '../../contract/events.ts';
import { leastScope, type Scope } from '../../contract/scopes.ts';
import type { Caller, Origin } from '../caller.ts';
import type { PolicyResource } from '../policy.ts';
import type { SendInner } from './access/inner-requests.ts';

export type Access =
  /** Anyone. */
  | { readonly kind: 'open' }
  /** The request carries its own credentials, which the handler verifies: the token endpoint. */
  | { readonly kind: 'client' }
  /** An access token for another API, which the handler verifies: forward authentication. */
  | { readonly kind: 'resourceToken' }
  /** A fixed secret as the Bearer token; anyone, when the operator has set none. */
  | { readonly kind: 'secret'; readonly secret: string | undefined }
  /**
   * The session cookie of the console. With `optional`, a request without a session is let in too: signing in. The request
   * must come from a page of this instance.
   */
  | { readonly kind: 'session'; readonly optional?: true }
  /** Any valid access token; with `ownOnly`, none that was redeemed from a delegation. Query parameters may need a scope. */
  | {
      readonly kind: 'bearer';
      readonly ownOnly?: true;
      readonly scopedParameters?: { readonly names: readonly string[]; readonly scope: Scope };
    }
  /** A valid access token that carries the scope. */
  | { readonly kind: 'scope'; readonly scope: Scope }
  /** The same, or the credentials of a client that may hold the scope: by HTTP Basic or in the form (RFC 7662 §2.1). */
  | { readonly kind: 'clientOrScope'; readonly scope: Scope }
  /**
   * Any valid access token, or the credentials of a client as above. A request with a `client_id` and no proof is let in without a
   * caller: the handler decides what a public client may do.
   */
  | { readonly kind: 'clientOrBearer' }
  /** A valid access token, and the policy engine permits the action. */
  | {
      readonly kind: 'policy';
      readonly action: PolicyAction;
      resource(caller: Caller, params: Record<string, string>): PolicyResource;
      /** The error for another organization's resource, when the caller may do the same in its own organization. */
      readonly foreign?: ErrorCode;
      /** The scope that the policies require: a refused caller without it gets INSUFFICIENT_SCOPE. */
      readonly scope?: Scope;
    };

export const open = () => ({ kind: 'open' }) as const;
export const client = () => ({ kind: 'client' }) as const;
export const resourceToken = () => ({ kind: 'resourceToken' }) as const;
export const session = () => ({ kind: 'session' }) as const;
export const optionalSession = () => ({ kind: 'session', optional: true }) as const;
export const secret = (value: string | undefined) => ({ kind: 'secret', secret: value }) as const;
export const bearer = () => ({ kind: 'bearer' }) as const;
/** Any valid access token; a request with one of these query parameters needs the scope. */
export const bearerWithScopeFor = (names: readonly string[], needed: Scope) =>
  ({ kind: 'bearer', scopedParameters: { names, scope: needed } }) as const;
/** For operations that cannot be delegated: the guard refuses delegated callers. */
export const ownBearer = () => ({ kind: 'bearer', ownOnly: true }) as const;
export const policy = (
  action: PolicyAction,
  resource: (caller: Caller, params: Record<string, string>) => PolicyResource,
  foreign?: ErrorCode,
  scope?: Scope,
) => ({ kind: 'policy', action, resource, ...(foreign && { foreign }), ...(scope && { scope }) }) as const;
export const scope = (name: Scope) => ({ kind: 'scope', scope: name }) as const;
export const clientOrScope = (name: Scope) => ({ kind: 'clientOrScope', scope: name }) as const;
export const clientOrBearer = () => ({ kind: 'clientOrBearer' }) as const;

/** The scope that the 401 of a route names. None for a route that is not opened by an access token. */
export const scopeToAskFor = (access: Access | undefined): Scope | undefined =>
  !access || access.kind === 'secret'
    ? undefined
    : (('scope' in access ? access.scope : undefined) ?? leastScope);

/**
 * `caller`: the request counts against the authenticated client, otherwise against the IP address. With a session of the console it
 * counts in the window of the console instead.
 * `afterVerification`: the handler counts, against the client once it is authenticated or against the address. Requests with a
 * client's public id alone cannot use up its window. A request that fails before the handler has counted counts against the address.
 * `console`: the request counts against the address, in the window of the console that signing in has. `pageFiles`: in that of the
 * files of console and documentation. Both refuse requests that a page of another site sends (403), and count these apart.
 * `static`: the request does not count. For files that are equal for all clients and cost less than counting.
 * `none`: the request does not count, and no store is read: the headers show an unused window. For probes.
 * `perMinute`: as `caller`. A request that has passed every other step of the guard also counts in a window of this route: one per
 * caller or per organization; per address for anonymous requests. The rate-limit headers describe that window when it refuses,
 * or always with `headers: 'own'`.
 * `per: 'agent'`: as `afterVerification`, in a window of this path alone, for agents as for addresses. A higher limit of the agent or of
 * the instance applies here, too.
 */
export type Limit =
  | 'caller'
  | 'afterVerification'
  | 'console'
  | 'pageFiles'
  | 'static'
  | 'none'
  | { readonly perMinute: number; readonly per: 'caller' | 'organization'; readonly headers?: 'own' }
  | OwnWindow;

interface OwnWindow {
  readonly perMinute: number;
  readonly per: 'agent';
}

/** The window in which only the handler counts, if the route has one. */
export const ownWindowOf = (entry: RouteEntry | undefined): OwnWindow | undefined =>
  typeof entry?.limit === 'object' && entry.limit.per === 'agent' ? entry.limit : undefined;

export const isCountedByHandler = (entry: RouteEntry | undefined): boolean =>
  entry?.limit === 'afterVerification' || ownWindowOf(entry) !== undefined;

interface RouteSchema {
  readonly params?: TSchema;
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** By success status; the first is the default. Failures are described by the contract. */
  readonly response: Readonly<Record<number, TSchema>>;
}

export type BodyFormat = 'json' | 'form' | 'raw';

/** `*` is Fastify's wildcard. */
export const mediaTypes: Readonly<Record<BodyFormat, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  raw: '*',
};

/** The order in which routes are mounted, and documented. */
export const bodyFormats = ['json', 'form', 'raw'] as const satisfies readonly BodyFormat[];

type StaticOf<S> = S extends TSchema ? Static<S> : undefined;
type CallerOf<A extends Access> = A extends { kind: 'bearer' | 'scope' | 'clientOrScope' | 'policy' }
  ? Caller
  : A extends { kind: 'session'; optional?: never }
    ? Caller
    : Caller | undefined;

/** The client that a request authenticated as without an access token. The organization is for the request's log line. */
export interface CountedClient {
  readonly clientId: string;
  readonly organizationId?: string | undefined;
  /** The agent's own limit; null: the instance's. */
  readonly rateLimitPerMinute?: number | null | undefined;
}

/** Counts this request against the client or the address; fails with 429 above the limit. A request counts once. */
export type CountAgainst = (subject: CountedClient | 'address') => Promise<void>;

export interface Input<S extends RouteSchema, A extends Access> {
  readonly params: StaticOf<S['params']>;
  readonly query: StaticOf<S['query']>;
  readonly body: StaticOf<S['body']>;
  readonly caller: CallerOf<A>;
  readonly origin: Origin;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Sets a response header. */
  header(name: string, value: string): void;
  /** With `limit: 'afterVerification'`, or a limit per agent. */
  readonly countAgainst: CountAgainst;
  /** Fails with 429 for a client whose window is used up, and counts nothing: before work that costs more than a count. */
  refuseExceeded(client: CountedClient): Promise<void>;
  /** For requests that wait, and `longLived` responses: aborted when the client has gone or the server closes. */
  endSignal(): AbortSignal;
  /** For `longLived` responses: whether the token or session still opens this route. Only with access by scope or session. */
  recheckAccess(): Promise<AccessCheck>;
  /** A request to the API of this server by the same caller, for one of these operations. */
  readonly sendInner: SendInner;
}

/** `noScope`: the token is valid, but its agent may no longer hold the scope of the route. */
export type AccessCheck = 'allowed' | 'invalidToken' | 'noScope';

/** The values are runtime expressions of OpenAPI, such as `$response.body#/access_token`. */
interface RouteLink {
  /** The id of the operation. */
  readonly to: string;
  readonly description: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly requestBody?: Readonly<Record<string, string>>;
}

/**
 * `heavy`: a read whose cost grows with the data of the organization. Such reads of one organization run one after the other
 * (composition/foundations.ts), so that a flood of them delays only its own organization. `long`: one that may hold a connection for many
 * seconds. They have a queue of their own, so that heavy reads do not wait for them.
 */
export type ReadCost = 'heavy' | 'long';

interface RouteSpec<S extends RouteSchema, A extends Access> {
  /** `operationId` in the OpenAPI document. */
  readonly id: string;
  /** One line without a full stop. */
  readonly summary: string;
  /** Further sentences for the OpenAPI document, which adds the access and the limits. */
  readonly description?: string;
  /** A name from contract/tags.ts. */
  readonly tag: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Answered in the same way, and left out of the OpenAPI document: a proxy may ask with the method of its client. */
  readonly alsoMethods?: readonly ('POST' | 'PUT' | 'PATCH' | 'DELETE')[];
  /** Relative to /api/v1, unless the route is made by `rootRoute`. */
  readonly url: string;
  readonly access: A;
  readonly limit: Limit;
  /**
   * `free`: does not count against the plan's calls per day and works when they are used up, so that a tenant can always sign in,
   * read and change its plan, and revoke access. Every other authenticated call counts, whether it succeeds or not.
   */
  readonly quota?: 'free';
  /** The queue that a read waits in; a function if it depends on the query. */
  readonly cost?: ReadCost | ((query: StaticOf<S['query']>) => ReadCost | undefined);
  /** Changes nothing, although the method is not GET: people with the role viewer may call it. */
  readonly readOnly?: true;
  readonly schema: S;
  /** Operations that use the answer; those below the path of a created object are linked without this. */
  readonly links?: readonly RouteLink[];
  /** The errors particular to this route, for the OpenAPI document, which adds those that follow from access and schema. */
  readonly errors?: readonly ErrorCode[];
  /** The form of errors: the envelope, or the OAuth form of the token endpoints. */
  readonly failures?: 'envelope' | 'oauth';
  /** With `oauth`: the error code for a malformed form; by default the spec's `unsupported_grant_type`. */
  readonly malformed?: (form: unknown) => TokenErrorCode;
  /** While true, all requests are refused with 503 and Retry-After before any other step, so that a refusal costs little. */
  readonly isOverloaded?: () => boolean;
  /** `raw`: the handler gets the bytes of any content type as a Buffer, because a signature covers them. */
  readonly accepts?: BodyFormat;
  /** With `accepts: 'form'`: the handler gets a repeated field as a list, instead of its refusal. */
  readonly keepsRepeatedFields?: true;
  /** Fields of the resource that cannot be changed: refused as IMMUTABLE_FIELD, before validation. */
  readonly immutable?: readonly string[];
  /** The body may be omitted; the handler then gets an empty object. */
  readonly optionalBody?: boolean;
  /**
   * Reads `Idempotency-Key` (kernel/http/input/idempotency.ts). The event records the creation, and its field `idField` has the id of the
   * created row; `secret`: the response has a secret, which is stored only encrypted.
   */
  readonly idempotent?: {
    readonly event: (typeof idempotentEvents)[number];
    readonly idField: string;
    readonly secret?: true;
  };
  /** Headers of the success response by name, with their descriptions for the OpenAPI document. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** Content type of the success response when it is not JSON. */
  readonly produces?: string;
  /** Further content types that the handler may set. */
  readonly alsoProduces?: readonly string[];
  /** Takes no turn among the writes of its organization: the requests that it sends take their own, and it may wait for long. */
  readonly queued?: false;
  /** The response stays open until the client or the server ends it. Its duration says nothing about the service. */
  readonly longLived?: true;
  /** It is a resource that clients know by its URL: its challenges name the metadata for its path (RFC 9728 §3.1), and these scopes. */
  readonly ownMetadata?: { readonly scopes: readonly Scope[] };
  /** Left out of the OpenAPI document. */
  readonly hidden?: boolean;
  /** Returns the response body. An async iterable of text chunks is streamed. */
  handler(input: Input<S, A>): unknown;
}

export type RouteEntry = RouteSpec<RouteSchema, Access> & { readonly path: string };

const target = Symbol('redirect');

/** A handler returns this to answer with 302 instead of a body. */
export const redirect = (location: string) => ({ [target]: location });

export const redirectTarget = (body: unknown): string | undefined =>
  typeof body === 'object' && body !== null && target in body ? String(body[target]) : undefined;

const whole = Symbol('whole answer');

interface WholeAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** A handler returns this when another protocol than that of the API decides the answer. No response schema applies. */
export const wholeAnswer = (answer: WholeAnswer) => ({ [whole]: answer });

/** A handler returns this to refuse the request of a browser by an HTML page. */
export const refusalPage = (status: number, html: string) =>
  wholeAnswer({ status, type: 'text/html; charset=utf-8', text: html });

export const wholeAnswerOf = (body: unknown): WholeAnswer | undefined =>
  typeof body === 'object' && body !== null && whole in body ? (body[whole] as WholeAnswer) : undefined;

const apiPrefix = '/api/v1';

export function route<S extends RouteSchema, A extends Access>(spec: RouteSpec<S, A>): RouteEntry {
  return { ...(spec as unknown as RouteSpec<RouteSchema, Access>), path: apiPrefix + spec.url };
}

export function rootRoute<S extends RouteSchema, A extends Access>(spec: RouteSpec<S, A>): RouteEntry {
  return { ...(spec as unknown as RouteSpec<RouteSchema, Access>), path: spec.url };
}

export const successStatus = (entry: RouteEntry): number => Number(Object.keys(entry.schema.response)[0]);
