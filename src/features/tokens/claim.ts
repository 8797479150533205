/**
 * A client's proof: a secret whose hash we keep, or an assertion signed with a key it registered. authenticate.ts checks it
 * before any transaction; the transaction that issues checks it again here, with the agent locked, so that of an issue and a
 * revocation at the same moment one comes first.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Tx } from '../../kernel/data/db.ts';
import { isUuid, nilUuid } from '../../kernel/ids.ts';
import { hashSecret, sameHash } from '../../kernel/secrets.ts';
import type { Presented } from './client.ts';
import type { TokenDeps } from './deps.ts';
import {
  busy,
  findKeyHolder,
  holdClients,
  holdKeyHolders,
  insertAssertions,
  type KeyHolder,
  type Standing,
} from './store.ts';

export type Claim =
  | { readonly kind: 'secret'; readonly agentId: string; readonly secretHash: Buffer }
  | {
      readonly kind: 'assertion';
      readonly agentId: string;
      readonly organizationId: string;
      readonly keys: KeyHolder['keys'];
      readonly assertionId: string;
      readonly expiresAt: Date;
      /** This very request has used the assertion already, and is asked again because it had to wait. */
      readonly used?: true;
    }
  /** Proves nothing, and this is why. */
  | { readonly kind: 'unusable'; readonly agentId: string; readonly problem: string };

export type ClaimOf<K extends Claim['kind']> = Extract<Claim, { kind: K }>;
export type ProvenClaim = ClaimOf<'secret' | 'assertion'>;

/** The proof is no longer good: it was revoked or used since it was checked first. */
export interface Failed {
  readonly failure: string;
}

export type Held = Standing | Failed;

export interface Moment {
  readonly now: Date;
  /** Whether there is time to wait for those who are busy. */
  readonly waiting: boolean;
}

export const wrongProof = 'the client id or the proof is wrong';
export const usedAssertion = 'the assertion was used before';

/** Nobody when it is no agent of ours, so that looking it up costs the same. */
const agentNamed = (clientId: string) => (isUuid(clientId) ? clientId.toLowerCase() : nilUuid);

export function createReadClaim({ db, issuer, assertions }: TokenDeps) {
  const audiences = [issuer, `${issuer}/`, `${issuer}/api/v1/token`];

  const readAssertion = async (named: string | undefined, assertion: string): Promise<Claim> => {
    const claimedId = assertions.unverifiedClient(assertion) ?? named ?? '';
    const agentId = agentNamed(claimedId);
    const holder = await findKeyHolder(db, agentId);
    const matches = named === undefined || named === claimedId;
    const verified =
      holder &&
      matches &&
      (await assertions.verify(assertion, holder.keys, { client: claimedId, audiences }));
    return verified
      ? { kind: 'assertion', agentId, organizationId: holder.organizationId, keys: holder.keys, ...verified }
      : { kind: 'unusable', agentId, problem: wrongProof };
  };

  return async (presented: Exclude<Presented, { kind: 'missing' }>): Promise<Claim> => {
    const agentId = agentNamed(presented.clientId ?? '');
    switch (presented.kind) {
      case 'secret':
        return { kind: 'secret', agentId, secretHash: hashSecret(presented.clientSecret) };
      case 'assertion':
        return readAssertion(presented.clientId, presented.assertion);
      case 'unusable':
        return { kind: 'unusable', agentId, problem: presented.problem };
    }
  };
}

/** In the order given. A client whose proof is good stays as it is until the transaction ends. */
export async function holdClaims(
  tx: Tx,
  claims: readonly ProvenClaim[],
  moment: Moment,
): Promise<(Held | typeof busy)[]> {
  const held: Holding = new Map();
  await holdSecrets(tx, claims.filter(isOf('secret')), held, moment);
  await holdAssertions(tx, claims.filter(isOf('assertion')), held, moment);
  return claims.map((claim) => held.get(claim) ?? { failure: wrongProof });
}

type Holding = Map<Claim, Held | typeof busy>;

const isOf =
  <K extends ProvenClaim['kind']>(kind: K) =>
  (claim: ProvenClaim): claim is ClaimOf<K> =>
    claim.kind === kind;

async function holdSecrets(tx: Tx, claims: readonly ClaimOf<'secret'>[], held: Holding, moment: Moment) {
  if (claims.length === 0) return;
  const clients = await holdClients(tx, claims, moment.now, moment);
  for (const [index, claim] of claims.entries()) {
    const client = clients[index];
    // The query matches by hash, so this comparison succeeds. It stays, so that a secret is accepted by a comparison in
    // constant time and not by the index alone, however the query finds the row.
    if (client === busy || (client && sameHash(claim.secretHash, client.secretHash))) held.set(claim, client);
  }
}

async function holdAssertions(
  tx: Tx,
  claims: readonly ClaimOf<'assertion'>[],
  held: Holding,
  { waiting }: Moment,
) {
  if (claims.length === 0) return;
  const holders = await holdKeyHolders(
    tx,
    claims.map(({ agentId }) => agentId),
    { waiting },
  );
  const sound = claims.flatMap((claim) => {
    const holder = holders.get(claim.agentId);
    if (holder === busy) held.set(claim, busy);
    return holder && holder !== busy && isDeepStrictEqual(holder.keys, claim.keys) ? [{ claim, holder }] : [];
  });
  const isFirstUse = await insertAssertions(
    tx,
    sound.map(({ claim }) => claim).filter(({ used }) => !used),
  );
  for (const { claim, holder } of sound)
    held.set(claim, claim.used || isFirstUse(claim) ? holder : { failure: usedAssertion });
}
