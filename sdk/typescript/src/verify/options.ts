/** What a program decides about its verifier. */
import type { JSONWebKeySet } from 'jose';
import type { Platform } from '../platform.ts';
import { minSilenceSeconds, type SignalsOptions } from '../signals/signals.ts';
import { isId, type Subject } from './access-token.ts';
import type { IntrospectionClient } from './introspection.ts';
import type { ProofStore } from './proof-store.ts';

export type VerifierOptions = {
  /** The address of Countersign, without `/api/v1`: `iss` of its tokens. */
  readonly issuer: string;
  /** The identifier of your API: `aud` of its tokens. */
  readonly audience: string;
  /** On whose behalf the calling agents may act: `agents` (themselves or other agents), `people`, or `any`. There is no default. */
  readonly subjects: Subjects;
  /** How far the clocks may differ. 5 seconds by default. */
  readonly clockToleranceSeconds?: number;
  /** The address of your metadata (RFC 9728). Refusals name it, so that MCP clients find Countersign. */
  readonly resourceMetadata?: string;
  /**
   * Tokens that are bound to a key (DPoP, RFC 9449). `accept`: bound tokens with a proof, and tokens that are not bound. `require`: bound ones
   * only. `refuse`: none. `accept` by default. A bound token never counts without its proof.
   */
  readonly dpop?: 'accept' | 'require' | 'refuse';
  readonly proofs?: ProofOptions;
  /** Public keys, if they should not be fetched from the issuer. */
  readonly jwks?: JSONWebKeySet;
  /** For tests, and for programs with a fetch of their own. */
  readonly platform?: Partial<Platform>;
} & (
  | {
      /** The organization whose tokens are accepted, or several. */
      readonly organizationId: string | readonly string[];
      readonly acceptAnyOrganization?: false;
    }
  | {
      /** Tokens of every organization on the instance are accepted: compare `organizationId` yourself. */
      readonly acceptAnyOrganization: true;
      readonly organizationId?: undefined;
    }
) &
  (
    | {
        /** Offline: a token counts until it expires. */
        readonly revocation: 'none';
      }
    | {
        /** Asks Countersign about each token. Without an answer, the token is refused with 503. */
        readonly revocation: 'introspect';
        readonly introspectWith: IntrospectionClient;
        /** How long an answer counts. 1 by default. 0: every call asks. */
        readonly introspectionCacheSeconds?: number;
      }
    | {
        /** Countersign says which tokens have ended, within a second, and each token is checked offline. Call `close` in the end. */
        readonly revocation: 'signals';
        readonly signals: SignalsOptions;
        /** For `whenSilent: 'introspect'`: how long an answer counts. 1 by default. */
        readonly introspectionCacheSeconds?: number;
      }
  );

export interface ProofOptions {
  /**
   * Where clients reach the API, or several such addresses: a proof must name this address with the path of the request. By default the
   * origin of `audience`. Behind a proxy that removes a part of the path, add that part. Headers such as Host do not count.
   */
  readonly publicUrl?: string | readonly string[];
  /** A request with a body needs a proof with `content_digest`. False by default: it is compared if it is there and the raw body is known. */
  readonly requireContentDigest?: boolean;
  /** Ids of proofs that were used. In memory by default: give a shared one if the API has several processes. */
  readonly store?: ProofStore;
}

export type Subjects = 'agents' | 'people' | 'any';

export const subjectTypes: Readonly<Record<Subjects, readonly Subject['type'][]>> = {
  agents: ['agent'],
  people: ['person'],
  any: ['agent', 'person'],
};

/** Mistakes of the program, not of a request. */
export function checked(options: VerifierOptions): VerifierOptions {
  const { audience, organizationId, acceptAnyOrganization, resourceMetadata } = options;
  if (typeof audience !== 'string' || audience === '')
    throw new TypeError('audience must be the identifier of your API');
  if (!Object.hasOwn(subjectTypes, options.subjects))
    throw new TypeError(
      "subjects must be 'agents' (agents that act for themselves or for other agents), 'people' (agents that act for a person) or 'any'",
    );
  const ids = [organizationId ?? []].flat();
  if (acceptAnyOrganization !== true && (ids.length === 0 || !ids.every(isId)))
    throw new TypeError('organizationId must be a UUID in lower case; or set acceptAnyOrganization');
  if (options.revocation === 'introspect') {
    if (typeof options.introspectWith?.fetch !== 'function')
      throw new TypeError(
        "revocation 'introspect' needs introspectWith: a client whose agent has tokens:read",
      );
    checkCount(options.introspectionCacheSeconds ?? 0, 'introspectionCacheSeconds', 300);
  } else if (options.revocation === 'signals') checkSignals(options);
  else if (options.revocation !== 'none')
    throw new TypeError("revocation must be 'signals', 'introspect' or 'none' (offline)");
  if (options.dpop !== undefined && !['accept', 'require', 'refuse'].includes(options.dpop))
    throw new TypeError("dpop must be 'accept', 'require' or 'refuse'");
  checkCount(options.clockToleranceSeconds ?? 0, 'clockToleranceSeconds', 300);
  if (resourceMetadata !== undefined && !URL.canParse(resourceMetadata))
    throw new TypeError('resourceMetadata must be an absolute URL');
  return options;
}

function checkSignals(options: VerifierOptions & { readonly revocation: 'signals' }): void {
  const { client, whenSilent, maxSilenceSeconds = 60, maxEntries = 100 } = options.signals ?? {};
  if (typeof client?.fetch !== 'function')
    throw new TypeError("revocation 'signals' needs signals.client: a client whose agent has tokens:read");
  if (!['introspect', 'accept', 'refuse'].includes(whenSilent))
    throw new TypeError(
      "signals.whenSilent must be 'introspect', 'accept' or 'refuse': what counts while signals are missing",
    );
  checkCount(maxSilenceSeconds, 'signals.maxSilenceSeconds', 3_600, minSilenceSeconds);
  checkCount(maxEntries, 'signals.maxEntries', 10_000_000, 100);
  checkCount(options.introspectionCacheSeconds ?? 0, 'introspectionCacheSeconds', 300);
}

export function checkCount(value: number, name: string, max: number, min = 0): void {
  if (!(Number.isFinite(value) && value >= min && value <= max))
    throw new TypeError(`${name} must be a number from ${min} to ${max}`);
}

export function introspectionClientOf(options: VerifierOptions): IntrospectionClient | undefined {
  if (options.revocation === 'introspect') return options.introspectWith;
  if (options.revocation !== 'signals' || options.signals.whenSilent !== 'introspect') return undefined;
  return options.signals.client;
}

export const cacheSecondsOf = (options: VerifierOptions): number =>
  options.revocation === 'none' ? 0 : (options.introspectionCacheSeconds ?? 1);

/** Without any, no proof can be checked. */
export function publicUrlsOf({
  audience,
  dpop,
  proofs: { publicUrl } = {},
}: VerifierOptions): readonly URL[] {
  const isUrl = (text: unknown) =>
    typeof text === 'string' && /^https?:\/\//.test(text) && URL.canParse(text);
  if (publicUrl !== undefined) {
    const given = [publicUrl].flat();
    if (given.length === 0 || !given.every(isUrl))
      throw new TypeError('proofs.publicUrl must be the http(s) address of your API, or several');
    return given.map((text) => new URL(text));
  }
  if (isUrl(audience)) return [new URL(new URL(audience).origin)];
  if (dpop === 'require')
    throw new TypeError("dpop 'require' needs proofs.publicUrl, because audience is no http(s) address");
  return [];
}
