/** What node:crypto needs to know to verify a signature by a JOSE algorithm. */
import { constants } from 'node:crypto';

export interface VerifyOptions {
  /** Ed25519 hashes by itself. */
  readonly digest: 'sha256' | 'sha384' | 'sha512' | null;
  readonly key: {
    readonly dsaEncoding?: 'ieee-p1363';
    readonly padding?: number;
    readonly saltLength?: number;
  };
}

const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
/** JWS has r and s of fixed length (RFC 7518 §3.4) instead of DER. */
const ecdsa = { dsaEncoding: 'ieee-p1363' } as const;

const options: Readonly<Record<string, VerifyOptions>> = {
  RS256: { digest: 'sha256', key: {} },
  RS384: { digest: 'sha384', key: {} },
  RS512: { digest: 'sha512', key: {} },
  PS256: { digest: 'sha256', key: pss },
  PS384: { digest: 'sha384', key: pss },
  PS512: { digest: 'sha512', key: pss },
  ES256: { digest: 'sha256', key: ecdsa },
  ES384: { digest: 'sha384', key: ecdsa },
  EdDSA: { digest: null, key: {} },
  Ed25519: { digest: null, key: {} },
};

export const verifyOptionsOf = (algorithm: string): VerifyOptions | undefined =>
  Object.hasOwn(options, algorithm) ? options[algorithm] : undefined;
