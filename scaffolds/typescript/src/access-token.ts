import { createRemoteJWKSet, type JWTVerifyGetKey, jwtVerify } from 'jose';

export interface Presented {
  readonly clientId: string;
  readonly scope: string;
}

export interface VerifierOptions {
  /** Who issues the tokens: the API's address. */
  readonly issuer: string;
  /** Whom they must be meant for. */
  readonly audience: string;
  readonly keys?: JWTVerifyGetKey;
}

/** Checks access tokens that others present to this agent. Keys are fetched once and again when an unknown one appears. */
export function createVerifier({
  issuer,
  audience,
  keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`)),
}: VerifierOptions): (token: string) => Promise<Presented> {
  return async (token) => {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms: ['RS256'],
      typ: 'at+jwt',
      requiredClaims: ['exp', 'sub', 'client_id'],
    });
    return { clientId: String(payload.client_id), scope: String(payload.scope ?? '') };
  };
}
