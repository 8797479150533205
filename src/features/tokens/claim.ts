/**
 * Whether a client is who it says: by a secret whose hash we keep, or by an assertion signed with a key it registered.
 * What can be checked beforehand is; the rest is checked in the transaction that records the outcome, with the agent held,
 * so that of an issue and a revocation at the same moment one comes first.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Tx } from '../../kernel/db.ts';
import { isUuid, nobody } from '../../kernel/ids.ts';
import { hashSecret, nobodysHash, sameHash } from '../../kernel/secrets.ts';
import type { Presented } from './client.ts';
import type { TokenDeps } from './feature.ts';
import {
  busy,
  findKeyHolder,
  findStandings,
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
      readonly keys: KeyHolder['keys'];
      readonly assertionId: string;
      readonly expiresAt: Date;
      /** This very request has used the assertion already, and is asked again because it had to wait. */
      readonly used?: true;
    }
  /** Proves nothing, and this is why. */
  | { readonly kind: 'unusable'; readonly agentId: string; readonly problem: string };

/** The agent, if there is one, and why the claim fails, if it does. */
export interface Held {
  readonly standing: Standing | undefined;
  readonly failure?: string;
}

export interface Moment {
  readonly now: Date;
  /** Whether there is time to wait for those who are busy. */
  readonly waiting: boolean;
}

const wrong = 'the client id or the proof is wrong';

/** Nobody when it is no agent of ours, so that looking it up costs the same. */
const agentNamed = (clientId: string) => (isUuid(clientId) ? clientId.toLowerCase() : nobody);

export function createReadClaim({ db, issuer, assertions }: TokenDeps) {
  const audiences = [issuer, `${issuer}/`, `${issuer}/api/v1/token`];

  const readAssertion = async (named: string | undefined, assertion: string): Promise<Claim> => {
    const claimedId = assertions.claimedClient(assertion) ?? named ?? '';
    const agentId = agentNamed(claimedId);
    const holder = await findKeyHolder(db, agentId);
    const matches = named === undefined || named === claimedId;
    const verified =
      holder &&
      matches &&
      (await assertions.verify(assertion, holder.keys, { client: claimedId, audiences }));
    return verified
      ? { kind: 'assertion', agentId, keys: holder.keys, ...verified }
      : { kind: 'unusable', agentId, problem: wrong };
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

type Holding = Map<Claim, Held | typeof busy>;

/** In the order given. Who is found to be who it says stays as it stands until the transaction ends. */
export async function holdClaims(
  tx: Tx,
  claims: readonly Claim[],
  moment: Moment,
): Promise<(Held | typeof busy)[]> {
  const held: Holding = new Map();
  await holdSecrets(tx, claims.filter(isOf('secret')), held, moment);
  await holdAssertions(tx, claims.filter(isOf('assertion')), held, moment);
  await describeFailed(tx, claims, held);
  return claims.map((claim) => held.get(claim) as Held | typeof busy);
}

type ClaimOf<K extends Claim['kind']> = Extract<Claim, { kind: K }>;

const isOf =
  <K extends Claim['kind']>(kind: K) =>
  (claim: Claim): claim is ClaimOf<K> =>
    claim.kind === kind;

/** Unknown id and wrong secret take the same steps. */
async function holdSecrets(tx: Tx, claims: readonly ClaimOf<'secret'>[], held: Holding, moment: Moment) {
  if (claims.length === 0) return;
  const clients = await holdClients(tx, claims, moment.now, moment);
  for (const [index, claim] of claims.entries()) {
    const client = clients[index];
    if (client === busy) held.set(claim, busy);
    const known = client === busy ? undefined : client;
    const matched = sameHash(claim.secretHash, known?.secretHash ?? nobodysHash);
    if (known && matched) held.set(claim, { standing: known });
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
  const holderOf = (claim: Claim) => {
    const holder = holders.get(claim.agentId);
    return holder === busy ? undefined : holder;
  };
  for (const claim of claims) if (holders.get(claim.agentId) === busy) held.set(claim, busy);
  const sound = claims.filter((claim) => isDeepStrictEqual(holderOf(claim)?.keys, claim.keys));
  const isFirstUse = await insertAssertions(
    tx,
    sound.filter(({ used }) => !used),
  );
  for (const claim of sound) {
    const standing = holderOf(claim);
    held.set(
      claim,
      claim.used || isFirstUse(claim) ? { standing } : { standing, failure: 'the assertion was used before' },
    );
  }
}

/** The log says of which agent and organization somebody claimed to be. */
async function describeFailed(tx: Tx, claims: readonly Claim[], held: Holding) {
  const failed = claims.filter((claim) => !held.has(claim));
  if (failed.length === 0) return;
  const standings = await findStandings(
    tx,
    failed.map(({ agentId }) => agentId),
  );
  for (const claim of failed) {
    const failure = claim.kind === 'unusable' ? claim.problem : wrong;
    held.set(claim, { standing: standings.get(claim.agentId), failure });
  }
}
