/**
 * Locks the clients within the transaction that issues, and checks their proofs again. So an issue and a revocation at the same
 * moment are ordered.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Tx } from '../../../kernel/data/db.ts';
import { sameHash } from '../../../kernel/secrets.ts';
import type { ResourceAccess } from '../../resources/access.ts';
import {
  type AuthenticationFailure,
  authenticationFailure,
  usedAssertion,
  type VerifiedAssertion,
  type VerifiedClient,
  type VerifiedPublic,
  type VerifiedSecret,
  wrongProof,
} from '../clients/verify-credential.ts';
import {
  type ClientStatus,
  findPublicClient,
  insertAssertions,
  lockAgentKeys,
  lockAgentStatus,
  lockClientsOfSecrets,
  lockNotAvailable,
} from '../store.ts';

/** Its agent and credentials do not change until the transaction ends. */
interface LockedClient {
  readonly kind: 'locked';
  readonly status: ClientStatus;
}

/** Another transaction is changing the agent, and this one does not wait for it. */
export const agentBusy = { kind: 'agentBusy' } as const;

export type ClientLock = LockedClient | AuthenticationFailure | typeof agentBusy;

interface LockOptions {
  readonly now: Date;
  readonly waiting: boolean;
  readonly resources: Pick<ResourceAccess, 'findTargets' | 'joinTargets'>;
  /** Of the proofs whose request names another audience than our own API. */
  readonly audiences: ReadonlyMap<VerifiedClient, string>;
}

/** In the order of the proofs. */
export async function lockClients(
  tx: Tx,
  proofs: readonly VerifiedClient[],
  options: LockOptions,
): Promise<ClientLock[]> {
  const locks: Locks = new Map();
  await lockBySecret(tx, proofs.filter(isSecret), locks, options);
  await lockByAssertion(tx, proofs.filter(isAssertion), locks, options);
  for (const proof of proofs.filter(isPublic)) await lockPublic(tx, proof, locks);
  return proofs.map((proof) => locks.get(proof) ?? authenticationFailure(proof.agentId, wrongProof));
}

type Locks = Map<VerifiedClient, ClientLock>;

const isSecret = (proof: VerifiedClient): proof is VerifiedSecret => proof.kind === 'secret';
const isPublic = (proof: VerifiedClient): proof is VerifiedPublic => proof.kind === 'public';
const isAssertion = (proof: VerifiedClient): proof is VerifiedAssertion => proof.kind === 'assertion';

async function lockBySecret(tx: Tx, proofs: readonly VerifiedSecret[], locks: Locks, options: LockOptions) {
  if (proofs.length === 0) return;
  const { now, waiting, audiences, resources } = options;
  const targets =
    audiences.size > 0 ? resources.joinTargets(proofs.map((proof) => audiences.get(proof))) : undefined;
  const clients = await lockClientsOfSecrets(tx, proofs, { now, waiting, targets });
  for (const [index, proof] of proofs.entries()) {
    const client = clients[index];
    if (client === lockNotAvailable) locks.set(proof, agentBusy);
    // The query matches by hash, so this comparison succeeds. It stays, so that a secret is accepted by a comparison in
    // constant time and not by the index alone, however the query finds the row.
    else if (client && sameHash(proof.secretHash, client.secretHash))
      locks.set(proof, { kind: 'locked', status: client });
  }
}

/** Only grants with a transaction of their own admit such clients. */
async function lockPublic(tx: Tx, proof: VerifiedPublic, locks: Locks) {
  const status = await lockAgentStatus(tx, proof.agentId);
  if (status && (await findPublicClient(tx, proof.agentId))) locks.set(proof, { kind: 'locked', status });
}

async function lockByAssertion(
  tx: Tx,
  proofs: readonly VerifiedAssertion[],
  locks: Locks,
  options: LockOptions,
) {
  if (proofs.length === 0) return;
  const owners = await lockAgentKeys(
    tx,
    proofs.map(({ agentId }) => agentId),
    options,
  );
  const current = proofs.flatMap((proof) => {
    const status = owners.get(proof.agentId);
    if (status === lockNotAvailable) locks.set(proof, agentBusy);
    return status && status !== lockNotAvailable && isDeepStrictEqual(status.keys, proof.keys)
      ? [{ proof, status }]
      : [];
  });
  const isFirstUse = await insertAssertions(
    tx,
    current.map(({ proof }) => proof).filter(({ used }) => !used),
  );
  const targets = await findTargetsOf(tx, proofs, options);
  for (const { proof, status } of current) {
    const isGood = proof.used || isFirstUse(proof);
    const target = targets.get(proof);
    const client = target === undefined ? status : { ...status, target };
    locks.set(
      proof,
      isGood ? { kind: 'locked', status: client } : authenticationFailure(proof.agentId, usedAssertion),
    );
  }
}

/** One query for all proofs that name another audience. */
async function findTargetsOf(
  tx: Tx,
  proofs: readonly VerifiedAssertion[],
  { audiences, resources }: LockOptions,
): Promise<ReadonlyMap<VerifiedAssertion, ClientStatus['target']>> {
  const named = proofs.flatMap((proof) => {
    const audience = audiences.get(proof);
    return audience === undefined ? [] : [{ proof, audience }];
  });
  const targets = await resources.findTargets(
    tx,
    named.map(({ proof: { agentId }, audience }) => ({ ownerId: agentId, clientId: agentId, audience })),
  );
  return new Map(named.map(({ proof }, index) => [proof, targets[index]]));
}
