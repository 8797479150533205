/**
 * Proofs of possession (DPoP, RFC 9449): verifies them and remembers them until they expire, for the token endpoints, our own API and
 * forward authentication. The table of used proofs is shared by all processes.
 */
import { limits } from '../../contract/limits.ts';
import { createBatcher } from '../../kernel/concurrency/batcher.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { TokenError } from '../../kernel/fail.ts';
import {
  type ExpectedProof,
  isProofRefusal,
  type Possession,
  type ProofRefusal,
  proofRefusal,
  type VerifiedProof,
} from '../../kernel/ports/possession.ts';
import type { TokenDeps } from './feature.ts';
import { insertProofs, isProofUsed } from './store.ts';

/** As Node gives it: several headers are joined by commas. */
type ProofHeader = string | string[] | undefined;

export interface PossessionChecks extends Pick<Possession, 'algorithms' | 'nonce'> {
  /** For a token endpoint: undefined without a header, TokenError for a proof that is not valid. Uses nothing up. */
  prove(header: ProofHeader, url: string): Promise<VerifiedProof | undefined>;
  /** Before work of a token endpoint that `useProofs` comes too late for. */
  isUsed(proof: VerifiedProof): Promise<boolean>;
  /** Within the transaction that issues; in the order of the proofs: false for one that was used before. */
  useProofs(tx: Queryable, proofs: readonly VerifiedProof[]): Promise<boolean[]>;
  /** For a protected resource: the proof beside an access token. Uses nothing up. */
  checkProof(header: ProofHeader, expected: ExpectedProof): Promise<VerifiedProof | ProofRefusal>;
  /** Uses a checked proof up; a refusal when it was used before. */
  useProof(proof: VerifiedProof): Promise<ProofRefusal | undefined>;
  /** Both at once: undefined for a proof of the key, for this request and this access token, that was not used before. */
  verifyPossession(header: ProofHeader, expected: Required<ExpectedProof>): Promise<ProofRefusal | undefined>;
}

const replayed = proofRefusal('the proof was used before');

export const usedProof = (): TokenError => tokenError(replayed);

const tokenError = ({ error, reason }: ProofRefusal): TokenError => new TokenError(error, reason);

/** From the earliest acceptance of a proof to the latest, by its `iat`. */
const rememberedMs = 2 * limits.proofSeconds * 1_000;

export function createPossessionChecks({
  db,
  clock,
  metrics,
  possession,
}: Pick<TokenDeps, 'db' | 'clock' | 'metrics' | 'possession'>): PossessionChecks {
  const useProofs: PossessionChecks['useProofs'] = (tx, proofs) =>
    insertProofs(
      tx,
      proofs.map(({ proofId }) => proofId),
      new Date(clock.now() + rememberedMs),
    );

  /** Concurrent requests share one statement. */
  const isFirstUse = createBatcher({
    name: 'tokens.use-proofs',
    run: (proofs: readonly VerifiedProof[]) => useProofs(db, proofs),
    key: ({ thumbprint }) => thumbprint,
    maxBatch: 100,
    concurrency: 2,
    maxQueue: 1_000,
    metrics,
  });

  const checkProof: PossessionChecks['checkProof'] = async (header, expected) =>
    header === undefined || header === ''
      ? proofRefusal('the header DPoP is missing')
      : possession.verify(String(header), expected);

  const useProof: PossessionChecks['useProof'] = async (proof) =>
    (await isFirstUse(proof)) ? undefined : replayed;

  return {
    algorithms: possession.algorithms,
    nonce: possession.nonce,
    isUsed: ({ proofId }) => isProofUsed(db, proofId),
    useProofs,
    checkProof,
    useProof,

    async prove(header, url) {
      if (header === undefined) return undefined;
      const proof = await checkProof(header, { method: 'POST', url });
      if (isProofRefusal(proof)) throw tokenError(proof);
      return proof;
    },

    async verifyPossession(header, expected) {
      const proof = await checkProof(header, expected);
      return isProofRefusal(proof) ? proof : useProof(proof);
    },
  };
}
