/** Signs and verifies JWTs with the instance's keys. Implemented by adapters/keys/keys.ts. */
import type { KeyObject } from 'node:crypto';

export type Claims = Readonly<Record<string, unknown>>;

export interface Signer {
  /** RFC 7638 thumbprint of the current public key. */
  readonly keyId: string;
  /** The `alg` of our signatures, which the current key decides: RS256, ES256 or EdDSA. */
  readonly algorithm: string;
  /** Signs the claims unchanged; `typ` separates the kinds of token (`at+jwt`, `delegation+jwt`, …). */
  sign(claims: Claims, typ: string): Promise<string>;
  /**
   * The claims of our own token of that kind, for any audience; undefined for any other text. With `allowExpired` also those of an
   * expired token.
   */
  verify(
    token: string,
    expected: { typ: string; requiredClaims: string[]; allowExpired?: boolean },
  ): Promise<Claims | undefined>;
  /** The public keys that verify, current first, as JWKs. */
  publicKeys(): readonly PublicKey[];
  /** Signs a text unchanged, as a compact JWS. The caller chooses the `kid` in its header. */
  attest(text: string, header: AttestationHeader): Promise<string>;
  /** A MAC with a key derived from the private key; cheap enough for every audit row. */
  readonly seal: Seal;
  /** The key of our seals, encrypted for the holder of another key, which can then verify them. */
  shareSeal(recipient: PublicKey): Promise<string>;
  /** The seal of another key's holder, shared with us; undefined when it was not encrypted for us. */
  openSeal(shared: string): Promise<Seal | undefined>;
}

/** A MAC over the text, in hexadecimal. */
export type Seal = (text: string) => string;

interface AttestationHeader {
  readonly typ: string;
  readonly kid: string;
  readonly cty?: string;
}

/** The text of a compact JWS of that kind that this key has signed; otherwise undefined. */
export type ReadAttestation = (
  attestation: string,
  expected: AttestationHeader,
  key: Claims,
) => Promise<string | undefined>;

/** A public key as a JWK; its `kid` is its RFC 7638 thumbprint. */
export type PublicKey = Claims & { readonly kid: string };

/** The claims of a statement of that kind that one of these keys has signed, at any time; otherwise undefined. */
export type ReadStatement = (
  statement: string,
  typ: string,
  keys: readonly PublicKey[],
) => Promise<Claims | undefined>;

export interface SignerOptions {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly previousPublicKeys: readonly KeyObject[];
  readonly issuer: string;
}

/** Client assertions (RFC 7523), verified with the public keys that the client has registered. */
export interface Assertions {
  /** The unverified subject: only for looking up keys. */
  unverifiedClient(assertion: string): string | undefined;
  /** Undefined unless one of the keys has signed it, issuer and subject are the client, its only audience is one of these, and it is short-lived. `keyId`: the RFC 7638 thumbprint of that key. */
  verify(
    assertion: string,
    keys: readonly Claims[],
    expected: { client: string; audiences: readonly string[] },
  ): Promise<{ assertionId: string; expiresAt: Date; keyId: string } | undefined>;
}
