/** Which agents may have proofs of their own: a secret, a public key or a trust policy. */

import { type FieldProblem, validationError } from './validation.ts';

interface ClientKind {
  readonly publicClient: boolean;
  readonly clientUri: string | null;
}

/** A public client proves nothing, and the proof of a client with a metadata document is the document's affair. */
export function refuseProof(
  { publicClient, clientUri }: ClientKind,
  at: Omit<FieldProblem, 'message'>,
): void {
  if (!publicClient && !clientUri) return;
  const message = clientUri
    ? 'is a client whose metadata document says how it authenticates'
    : 'is a public client, which has no credentials, keys or trust policies';
  throw validationError(at.in, [{ ...at, message }]);
}
