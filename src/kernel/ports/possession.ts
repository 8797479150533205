/**
 * Proofs of possession (DPoP, RFC 9449): a client signs each request with a key of its own, and its tokens are bound to the key.
 * Implemented by adapters/keys/dpop.ts. The port does not know which proofs were used before.
 */

export interface ExpectedProof {
  readonly method: string;
  /** The public address of the request; query and fragment are ignored. */
  readonly url: string;
  /** At a protected resource: the access token beside the proof. */
  readonly accessToken?: string;
  /** The key that the access token is bound to. */
  readonly thumbprint?: string;
}

export interface VerifiedProof {
  /** RFC 7638 thumbprint of the key. */
  readonly thumbprint: string;
  /** Of the key and the `jti`, in hexadecimal: equal for a proof that is sent again. */
  readonly proofId: string;
}

export interface ProofRefusal {
  readonly error: 'invalid_dpop_proof' | 'use_dpop_nonce';
  readonly reason: string;
}

export interface Possession {
  /** The signature algorithms of proofs. */
  readonly algorithms: readonly string[];
  /** `proof`: the header `DPoP` as it was received. */
  verify(proof: string, expected: ExpectedProof): Promise<VerifiedProof | ProofRefusal>;
  /** For the header `DPoP-Nonce`: an authenticated time, which no node stores. */
  nonce(): string;
}

export const isProofRefusal = (result: object): result is ProofRefusal => 'error' in result;

export const proofRefusal = (reason: string): ProofRefusal => ({ error: 'invalid_dpop_proof', reason });
