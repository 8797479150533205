/** How a request presents its access token: as Bearer, or as DPoP with a proof that it has the token's key (RFC 9449 §7). */
import type { FastifyRequest } from 'fastify';
import type { ExpectedProof, Possession, ProofRefusal, VerifiedProof } from '../../ports/possession.ts';
import type { Identity } from './identity.ts';

export interface PossessionDeps extends Pick<Possession, 'algorithms' | 'nonce'> {
  /** Uses nothing up. */
  checkProof(
    header: string | string[] | undefined,
    expected: ExpectedProof,
  ): Promise<VerifiedProof | ProofRefusal>;
  /** A refusal when the proof was used before. */
  useProof(proof: VerifiedProof): Promise<ProofRefusal | undefined>;
}

/** `invalid_token`: the token needs the other scheme. */
export interface PossessionRefusal {
  readonly error: ProofRefusal['error'] | 'invalid_token';
  readonly reason: string;
}

export interface PresentedToken {
  readonly token: string | undefined;
  readonly isDpop: boolean;
}

export function presentedToken(header: string | undefined): PresentedToken {
  const [scheme] = /^(?:Bearer|DPoP) +/i.exec(header ?? '') ?? [];
  const token = scheme && header?.slice(scheme.length);
  const isDpop = scheme !== undefined && (scheme[0] === 'D' || scheme[0] === 'd');
  return { token: !token || token.includes(' ') || token.includes('\t') ? undefined : token, isDpop };
}

export const boundAsBearer: PossessionRefusal = {
  error: 'invalid_token',
  reason: 'the access token is bound to a key: send it as Authorization: DPoP, with a proof',
};
export const unboundAsDpop: PossessionRefusal = {
  error: 'invalid_token',
  reason: 'the access token is bound to no key: send it as Authorization: Bearer',
};

/** For a token that is bound, or is presented as bound. */
export const createCheckPossession =
  ({ possession: { checkProof }, origin }: { possession: PossessionDeps; origin: string }) =>
  async (
    { headers, method, url }: FastifyRequest,
    { token = '', isDpop }: PresentedToken,
    { keyThumbprint }: Identity,
  ): Promise<VerifiedProof | PossessionRefusal> => {
    if (keyThumbprint === undefined) return unboundAsDpop;
    if (!isDpop) return boundAsBearer;
    return checkProof(headers.dpop, {
      method,
      url: `${origin}${pathIn(url)}`,
      accessToken: token,
      thumbprint: keyThumbprint,
    });
  };

/** Of a request target, which may name a scheme and an authority (RFC 9112 §3.2.2). Routes do not look at these, and neither does a proof. */
const pathIn = (target: string): string =>
  target.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '') || '/';
