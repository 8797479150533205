/**
 * The last step of a token request: its audit record, and with it a last look under lock, so that what was changed
 * meanwhile has come first. Concurrent requests share the transaction, and with it the wait for the disk.
 */
import { isDeepStrictEqual } from 'node:util';
import type { TokenErrorCode } from '../../contract/errors.ts';
import type { Tx } from '../../kernel/db.ts';
import { createGatherer } from '../../kernel/gather.ts';
import type { Entry } from '../../kernel/ledger.ts';
import type { TokenDeps } from './feature.ts';
import type { Proof, Proven } from './proof.ts';
import {
  findValidSecrets,
  holdKeyHolders,
  insertAssertions,
  type KeyHolder,
  type Standing,
} from './store.ts';

/** An issue goes with what it was granted on; a refusal is recorded whatever has changed. */
export interface ToRecord {
  readonly entry: Entry;
  readonly granted?: Proven;
}

/** Why a token is not issued after all. */
export type Lost = readonly [TokenErrorCode, string];

export type RecordOutcome = (item: ToRecord) => Promise<Lost | undefined>;

export function createRecordOutcome({ db, ledger }: TokenDeps): RecordOutcome {
  return createGatherer({
    atMost: 200,
    waiting: 2_000,
    run: (items: readonly ToRecord[]) =>
      db.transaction(async (tx) => {
        const losses = await findLosses(
          tx,
          items.map(({ granted }) => granted),
        );
        const kept = items.filter((_, index) => losses[index] === undefined);
        await ledger.recordAll(
          tx,
          kept.map(({ entry }) => entry),
        );
        return losses;
      }),
  });
}

/** What keeps a client that proved itself from its token. */
export function standingProblem({ agentStatus, organizationStatus }: Standing): string | undefined {
  if (agentStatus !== 'active') return `the agent is ${agentStatus}`;
  return organizationStatus === 'active' ? undefined : `the organization is ${organizationStatus}`;
}

async function findLosses(
  tx: Tx,
  granted: readonly (Proven | undefined)[],
): Promise<readonly (Lost | undefined)[]> {
  const proven = granted.filter((one) => one !== undefined);
  if (proven.length === 0) return granted.map(() => undefined);
  const holders = await holdKeyHolders(tx, [...new Set(proven.map(({ standing }) => standing.agentId))]);
  const standingLoss = ({ standing }: Proven): Lost | undefined => {
    const now = holders.get(standing.agentId);
    const problem = now ? standingProblem(now) : 'the agent is gone';
    return problem === undefined ? undefined : ['unauthorized_client', problem];
  };
  const proofLoss = await proofLosses(
    tx,
    proven.filter((one) => standingLoss(one) === undefined),
    holders,
  );
  return granted.map((one) => one && (standingLoss(one) ?? proofLoss.get(one)));
}

/** The agents are held, so their credentials and keys cannot change any more. */
async function proofLosses(
  tx: Tx,
  proven: readonly Proven[],
  holders: ReadonlyMap<string, KeyHolder>,
): Promise<Map<Proven, Lost>> {
  const losses = new Map<Proven, Lost>();
  const lose = (one: Proven, reason: string) => losses.set(one, ['invalid_client', reason]);

  const bySecret = proven.filter(isBy('secret'));
  const valid = await findValidSecrets(
    tx,
    bySecret.map(({ proof }) => proof),
  );
  for (const one of bySecret) {
    if (!valid.has(one.proof.credentialId)) lose(one, 'the credential was revoked or rotated meanwhile');
  }

  const byAssertion = proven.filter(isBy('assertion')).filter((one) => {
    const unchanged = isDeepStrictEqual(holders.get(one.standing.agentId)?.keys, one.proof.keys);
    if (!unchanged) lose(one, 'the keys were replaced meanwhile');
    return unchanged;
  });
  const isFirstUse = await insertAssertions(
    tx,
    byAssertion.map(({ standing, proof }) => ({ agentId: standing.agentId, ...proof })),
  );
  for (const one of byAssertion) {
    if (!isFirstUse(one.standing.agentId, one.proof.assertionId)) lose(one, 'the assertion was used before');
  }
  return losses;
}

const isBy =
  <K extends Proof['kind']>(kind: K) =>
  (one: Proven): one is Proven & { proof: Extract<Proof, { kind: K }> } =>
    one.proof.kind === kind;
