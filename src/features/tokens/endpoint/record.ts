/** Drafts the tokens and writes the audit records of all decisions. Signing runs while the records are written. */
import type { Tx } from '../../../kernel/data/db.ts';
import type { Ledger } from '../../../kernel/ledger.ts';
import type { DraftToken, TokenContents } from '../draft-token.ts';
import type { Authorized, WithinQuota } from './authorize.ts';
import { type Decision, refusalBy } from './decision.ts';

export type Recorded = Exclude<WithinQuota, Authorized>;

export async function record(
  tx: Tx,
  requests: readonly WithinQuota[],
  { ledger, draft }: { readonly ledger: Ledger; readonly draft: DraftToken },
): Promise<Recorded[]> {
  const writes: NonNullable<TokenContents['whenIssued']>[] = [];
  const results = requests.map((one) => (one.kind === 'authorized' ? issued(one, draft, writes) : one));
  for (const write of writes) await write(tx);
  await ledger.recordAll(
    tx,
    results.flatMap((one) => (one.kind === 'decided' && one.entry ? [one.entry] : [])),
  );
  return results;
}

function issued(
  { request, client, contents }: Authorized,
  draft: DraftToken,
  writes: NonNullable<TokenContents['whenIssued']>[],
): Decision {
  try {
    const { origin, proof } = request;
    const credentialId = proof.kind === 'secret' ? proof.credentialId : null;
    const drafted =
      proof.kind === 'assertion'
        ? draft(client, contents, origin, null, proof.keyId)
        : draft(client, contents, origin, credentialId);
    if (contents.whenIssued) writes.push(contents.whenIssued);
    return drafted;
  } catch (error) {
    return refusalBy(error, request, client);
  }
}
