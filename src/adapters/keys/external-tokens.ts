/** The port for external tokens on `jose`. It reads no header but `alg`, `kid`, `typ` and `crit`: no token can supply a key or a URL. */
import { createHash } from 'node:crypto';
import { compactVerify } from 'jose';
import type { ExternalTokenReason } from '../../contract/external-tokens.ts';
import type { Clock } from '../../kernel/clock.ts';
import { readJson } from '../../kernel/http/input/body.ts';
import {
  countActors,
  type ExternalTokenKind,
  type ExternalTokenRefusal,
  type ExternalTokens,
  maxActors,
  type UnverifiedToken,
  type VerifiedToken,
} from '../../kernel/ports/external-tokens.ts';
import type { Claims } from '../../kernel/ports/signer.ts';
import { isAllowedAlgorithm } from './external-keys.ts';
import type { KeySets } from './key-sets.ts';

const maxLength = 16 * 1024;
/** As long as a form can be. In a token that is too long, actors are counted up to here. */
const maxCountedLength = 32 * 1024;
/** For `nbf` and `iat`; `exp` has no tolerance. */
const clockSkewMs = 60_000;
/** Logout tokens and security events are signed with the same keys, but are not access tokens. */
const allowedTypes: Readonly<
  Record<ExternalTokenKind, { readonly names: ReadonlySet<string>; readonly required: boolean }>
> = {
  token: { names: new Set(['jwt', 'jose', 'at+jwt']), required: false },
  svid: { names: new Set(['jwt', 'jose']), required: false },
  'id-jag': { names: new Set(['oauth-id-jag+jwt']), required: true },
};
/** The end of the year 9999, the last one in ISO 8601 times of four digits. */
const lastSecond = 253_402_300_799;

const refused = (reason: ExternalTokenReason): ExternalTokenRefusal => ({ reason });

export function createExternalTokens({ keySets, clock }: { keySets: KeySets; clock: Clock }): ExternalTokens {
  return {
    isIdJag: (token) => isOfType(readPart(token.split('.')[0])?.typ, 'id-jag'),

    read(token, kind = 'token') {
      const parts = token.length > maxCountedLength ? [] : token.split('.');
      if (token.length > maxLength)
        return refused(countActors(readDeep(parts[1])) > maxActors ? 'too_many_actors' : 'too_large');
      const header = parts.length === 3 ? readPart(parts[0]) : undefined;
      if (!header) return refused('malformed');
      const { alg, kid, typ, crit } = header;
      if (crit !== undefined) return refused('critical_header');
      if (!isAllowedAlgorithm(alg)) return refused('algorithm_not_allowed');
      if (!isOfType(typ, kind)) return refused('type_not_allowed');
      if (kid !== undefined && typeof kid !== 'string') return refused('malformed');
      const claims = readPart(parts[1]);
      if (countActors(claims ?? readDeep(parts[1])) > maxActors) return refused('too_many_actors');
      // jose decodes the signature and ignores invalid characters, so they are checked here.
      if (!claims || !areValidClaims(claims) || !/^[\w-]+$/.test(parts[2] ?? '')) return refused('malformed');
      const { iss = '' } = claims;
      if (iss === '' && kind !== 'svid') return refused('missing_claim');
      const fingerprint = createHash('sha256').update(`${parts[0]}.${parts[1]}`).digest('base64url');
      return { token, issuer: String(iss), claims, algorithm: alg, keyId: kid, fingerprint };
    },

    async verify(unverified, source) {
      // A JWT-SVID without one: the keys of the source say which trust domain has signed it.
      if (unverified.issuer !== '' && unverified.issuer !== source.issuer) return refused('unknown_issuer');
      const key = await keySets.find(source, unverified);
      if (typeof key === 'string') return refused(key);
      try {
        await compactVerify(unverified.token, key, { algorithms: [unverified.algorithm] });
      } catch {
        return refused('bad_signature');
      }
      return checkTimes(unverified, clock.now());
    },
  };
}

function readPart(text: string | undefined): Claims | undefined {
  if (!text || !/^[\w-]+$/.test(text)) return undefined;
  try {
    // readJson also refuses deep nesting, NUL, lone surrogates and duplicate claims (RFC 7519 §4).
    const value = readJson(Buffer.from(text, 'base64url'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Claims)
      : undefined;
  } catch {
    return undefined;
  }
}

function isOfType(typ: unknown, kind: ExternalTokenKind): boolean {
  const { names, required } = allowedTypes[kind];
  if (typ === undefined) return !required;
  return typeof typ === 'string' && names.has(typ.toLowerCase().replace(/^application\//, ''));
}

/** Nested too deeply for `readPart`: only for counting. */
function readDeep(text: string | undefined): unknown {
  try {
    return JSON.parse(Buffer.from(text ?? '', 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}

const isTime = (value: unknown): boolean => typeof value === 'number' && value >= 0 && value <= lastSecond;

const areValidClaims = ({ iss, sub, aud, exp, nbf, iat }: Claims): boolean =>
  [iss, sub].every((text) => text === undefined || typeof text === 'string') &&
  (aud === undefined ||
    typeof aud === 'string' ||
    (Array.isArray(aud) && aud.every((one) => typeof one === 'string'))) &&
  [exp, nbf, iat].every((time) => time === undefined || isTime(time));

function checkTimes({ claims }: UnverifiedToken, now: number): VerifiedToken | ExternalTokenRefusal {
  const { exp, nbf, iat } = claims as { exp?: number; nbf?: number; iat?: number };
  if (exp === undefined) return refused('missing_claim');
  if (exp * 1000 <= now) return refused('expired');
  if (nbf !== undefined && nbf * 1000 > now + clockSkewMs) return refused('not_yet_valid');
  if (iat !== undefined && iat * 1000 > now + clockSkewMs) return refused('issued_in_future');
  return { claims, expiresAt: exp, issuedAt: iat };
}
