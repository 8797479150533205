/**
 * Routes are data. An entry cannot leave out who may call it (`access`), how it is counted (`limit`) or what it
 * may answer (`schema.response`, which is also the filter that keeps undeclared fields, and so secrets, inside).
 */
import type { Static, TSchema } from 'typebox';
import type { PolicyAction } from '../../contract/actions.ts';
import type { ErrorCode, TokenErrorCode } from '../../contract/errors.ts';
import type { Scope } from '../../contract/scopes.ts';
import type { Caller, Origin } from '../caller.ts';
import type { PolicyResource } from '../policy.ts';

export type Access =
  /** Anyone. */
  | { readonly kind: 'open' }
  /** The request carries its own credentials, which the handler verifies: the token endpoint. */
  | { readonly kind: 'client' }
  /** Whoever holds this fixed secret; anyone, when the operator has set none. */
  | { readonly kind: 'secret'; readonly secret: string | undefined }
  /** Any valid access token; with `ownOnly`, none that was redeemed from a delegation. */
  | { readonly kind: 'bearer'; readonly ownOnly?: true }
  /** A valid access token that carries the scope. */
  | { readonly kind: 'scope'; readonly scope: Scope }
  /** A valid access token whose holder the policy engine lets do this. */
  | {
      readonly kind: 'policy';
      readonly action: PolicyAction;
      resource(caller: Caller, params: Record<string, string>): PolicyResource;
      /** What another organization's resource answers to somebody who may do this at home. */
      readonly foreign?: ErrorCode;
      /** The scope that policies ask for: whoever is refused without it is told so. */
      readonly scope?: Scope;
    };

export const open = () => ({ kind: 'open' }) as const;
export const client = () => ({ kind: 'client' }) as const;
export const secret = (value: string | undefined) => ({ kind: 'secret', secret: value }) as const;
export const bearer = () => ({ kind: 'bearer' }) as const;
/** For what cannot be lent: the guard refuses delegated callers. */
export const ownBearer = () => ({ kind: 'bearer', ownOnly: true }) as const;
export const policy = (
  action: PolicyAction,
  resource: (caller: Caller, params: Record<string, string>) => PolicyResource,
  foreign?: ErrorCode,
  scope?: Scope,
) => ({ kind: 'policy', action, resource, ...(foreign && { foreign }), ...(scope && { scope }) }) as const;
export const scope = (name: Scope) => ({ kind: 'scope', scope: name }) as const;

/**
 * `caller`: one request against the verified client, else against the IP address.
 * `afterVerification`: the handler counts, against the client whose secret proved right or against the address, so that
 * nobody can lock out a client by its public id. What fails before it has counted is counted against the address.
 * `perMinute`: as `caller`, and whoever has passed every other step of the guard is counted once more, in a window that
 * belongs to this route alone: each caller's own, or one that the callers of an organization share; the address's when
 * nobody is authenticated. The headers tell of it when it refuses, or, with `shown: 'own'`, whenever it was counted.
 */
export type Limit =
  | 'caller'
  | 'afterVerification'
  | { readonly perMinute: number; readonly per: 'caller' | 'organization'; readonly headers?: 'own' };

export interface RouteSchema {
  readonly params?: TSchema;
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** By success status; the first is the default. Failures are described by the contract. */
  readonly response: Readonly<Record<number, TSchema>>;
}

type StaticOf<S> = S extends TSchema ? Static<S> : undefined;
type CallerOf<A extends Access> = A extends { kind: 'bearer' | 'scope' | 'policy' }
  ? Caller
  : Caller | undefined;

/** Counts this request against the client, or against the address; refuses when over. A request counts once. */
export type CountAgainst = (subject: { clientId: string } | 'address') => Promise<void>;

export interface Input<S extends RouteSchema, A extends Access> {
  readonly params: StaticOf<S['params']>;
  readonly query: StaticOf<S['query']>;
  readonly body: StaticOf<S['body']>;
  readonly caller: CallerOf<A>;
  readonly origin: Origin;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Sets a response header. */
  header(name: string, value: string): void;
  /** With `limit: 'afterVerification'`. */
  readonly countAgainst: CountAgainst;
}

export interface RouteSpec<S extends RouteSchema, A extends Access> {
  /** `operationId` in the OpenAPI document. */
  readonly id: string;
  readonly summary: string;
  readonly tag: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to /api/v1, unless the route is made by `rootRoute`. */
  readonly url: string;
  readonly access: A;
  readonly limit: Limit;
  /**
   * `free`: neither refused when the organization's plan is used up for the day nor counted against it, so that a tenant
   * can always see its state and mend it. Every other authenticated call is counted, whether it succeeds or not.
   */
  readonly quota?: 'free';
  readonly schema: S;
  /** The API errors particular to this route, for the OpenAPI document; what follows from access and schema is added. */
  readonly errors?: readonly ErrorCode[];
  /** How failures are written: the envelope, or the OAuth form of the token endpoints. */
  readonly failures?: 'envelope' | 'oauth';
  /** With `oauth`: the word for a form that is malformed; `unsupported_grant_type`, as the spec has it, when left out. */
  readonly malformed?: (form: unknown) => TokenErrorCode;
  /** `raw`: the handler gets the bytes as they came (a Buffer), whatever their content type, because a signature covers them. */
  readonly accepts?: 'json' | 'form' | 'raw';
  /** Fields that the resource has and a body must not bring: refused as IMMUTABLE_FIELD, before validation. */
  readonly immutable?: readonly string[];
  /** The body may be left out; the handler then sees an empty object. */
  readonly optionalBody?: boolean;
  /** Content type of the success answer when it is not JSON. */
  readonly produces?: string;
  /** Others that the handler may set instead. */
  readonly alsoProduces?: readonly string[];
  /** Left out of the OpenAPI document. */
  readonly hidden?: boolean;
  /** Its result is the answer; pieces of text, as an async iterable, are sent one by one as they come. */
  handler(input: Input<S, A>): unknown;
}

export type RouteEntry = RouteSpec<RouteSchema, Access> & { readonly path: string };

const apiPrefix = '/api/v1';

export function route<S extends RouteSchema, A extends Access>(spec: RouteSpec<S, A>): RouteEntry {
  return { ...(spec as unknown as RouteSpec<RouteSchema, Access>), path: apiPrefix + spec.url };
}

export function rootRoute<S extends RouteSchema, A extends Access>(spec: RouteSpec<S, A>): RouteEntry {
  return { ...(spec as unknown as RouteSpec<RouteSchema, Access>), path: spec.url };
}

export const successStatus = (entry: RouteEntry): number => Number(Object.keys(entry.schema.response)[0]);
