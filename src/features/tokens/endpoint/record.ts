/** Drafts the tokens and writes the audit records of all decisions. Signing runs while the records are written. */
import type { Tx } from '../../../kernel/data/db.ts';
import type { Ledger } from '../../../kernel/ledger.ts';
import type { DraftToken } from '../draft-token.ts';
import type { Authorized, WithinQuota } from './authorize.ts';
import { type Decision, refusalBy } from './decision.ts';

export type Recorded = Exclude<WithinQuota, Authorized>;

export async function record(
  tx: Tx,
  requests: readonly WithinQuota[],
  { ledger, draft }: { readonly ledger: Ledger; readonly draft: DraftToken },
): Promise<Recorded[]> {
  const results = requests.map((one) => (one.kind === 'authorized' ? issued(one, draft) : one));
  await ledger.recordAll(
    tx,
    results.flatMap((one) => (one.kind === 'decided' ? [one.entry] : [])),
  );
  return results;
}

function issued({ request, client, contents }: Authorized, draft: DraftToken): Decision {
  try {
    const { origin, proof } = request;
    return proof.kind === 'secret'
      ? draft(client, contents, origin, proof.credentialId)
      : draft(client, contents, origin, null, proof.keyId);
  } catch (error) {
    return refusalBy(error, request, client);
  }
}
