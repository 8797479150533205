/** Signing and checking JWTs with the instance's keys; made by adapters/keys/keys.ts. */
import type { KeyObject } from 'node:crypto';

export type Claims = Readonly<Record<string, unknown>>;

export interface Signer {
  /** RFC 7638 thumbprint of the current public key. */
  readonly keyId: string;
  /** Signs as given; `typ` keeps kinds of token apart (`at+jwt`, `delegation+jwt`, …). */
  sign(claims: Claims, typ: string): Promise<string>;
  /**
   * The claims of a token of ours of that kind, for whatever audience; undefined for anything else. An expired one is
   * nothing either, unless somebody wants to know what it was.
   */
  verify(
    token: string,
    expected: { typ: string; requiredClaims: string[]; allowExpired?: boolean },
  ): Promise<Claims | undefined>;
  /** The public keys that verify, current first, as JWKs. */
  publicKeys(): readonly PublicKey[];
  /** Signs a text as it stands, under a header that names the key by an address of the caller's choosing: a compact JWS. */
  attest(text: string, header: AttestationHeader): Promise<string>;
  /** What only a holder of the private key can write below this text; cheap enough for every audit row. */
  readonly seal: Seal;
  /** The key of our seals, encrypted for the holder of another key: with it, that holder can check them. */
  shareSeal(recipient: PublicKey): Promise<string>;
  /** The seal that another key's holder has shared with us; undefined when it was not encrypted for us. */
  openSeal(shared: string): Promise<Seal | undefined>;
}

/** A MAC over the text, in hexadecimal. */
export type Seal = (text: string) => string;

export interface AttestationHeader {
  readonly typ: string;
  readonly kid: string;
  readonly cty?: string;
}

/** The text that this key has signed as a compact JWS of that kind; undefined for anything else. */
export type ReadAttestation = (
  attestation: string,
  expected: AttestationHeader,
  key: Claims,
) => Promise<string | undefined>;

/** A public key as a JWK; its `kid` is its RFC 7638 thumbprint. */
export type PublicKey = Claims & { readonly kid: string };

/** The claims that one of these keys has signed as a statement of that kind, however long ago; undefined for anything else. */
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

/** Assertions by which clients prove themselves (RFC 7523), checked with the public keys they registered. */
export interface Assertions {
  /** Whom it claims to be from, unverified: good for looking up keys and nothing else. */
  unverifiedClient(assertion: string): string | undefined;
  /** Undefined unless it is signed by one of the keys, by and about the client, for us, and short-lived. */
  verify(
    assertion: string,
    keys: readonly Claims[],
    expected: { client: string; audiences: readonly string[] },
  ): Promise<{ assertionId: string; expiresAt: Date } | undefined>;
}
