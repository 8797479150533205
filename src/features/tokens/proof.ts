/** Whether a client is who it says: by a secret whose hash we keep, or by an assertion signed with a key it registered. */
import { isDeepStrictEqual } from 'node:util';
import type { Tx } from '../../kernel/db.ts';
import { isUuid } from '../../kernel/ids.ts';
import { hashSecret, nobodysHash, sameHash } from '../../kernel/secrets.ts';
import type { Presented } from './client.ts';
import type { TokenDeps } from './feature.ts';
import {
  findClient,
  findKeyHolder,
  holdCredential,
  insertAssertion,
  type KeyHolder,
  type Standing,
} from './store.ts';

export interface Proven {
  readonly standing: Standing;
  /** Within the issuing transaction, the agent being held: why the proof no longer holds, or undefined when it does. */
  lostBy(tx: Tx, now: KeyHolder): Promise<string | undefined>;
}

export interface Unproven {
  readonly standing: Standing | undefined;
  readonly claimedId: string;
  readonly reason: string;
}

/** Stands for a client that named no agent of ours, so that looking it up costs the same. */
export const nobody = '00000000-0000-0000-0000-000000000000';

const wrong = 'the client id or the proof is wrong';

export function createProve(deps: TokenDeps) {
  const { db, clock, issuer, assertions } = deps;
  const audiences = [issuer, `${issuer}/`, `${issuer}/api/v1/token`];

  /** Unknown id and wrong secret take the same steps and get the same answer. */
  const bySecret = async (clientId: string, secret: string): Promise<Proven | Unproven> => {
    const hash = hashSecret(secret);
    const client = await findClient(db, isUuid(clientId) ? clientId : nobody, hash, new Date(clock.now()));
    const matched = sameHash(hash, client?.secretHash ?? nobodysHash);
    const credentialId = client?.credentialId;
    if (!client || !credentialId || !matched) return { standing: client, claimedId: clientId, reason: wrong };
    return {
      standing: client,
      lostBy: async (tx) =>
        (await holdCredential(tx, credentialId, hash))
          ? undefined
          : 'the credential was revoked or rotated meanwhile',
    };
  };

  const byAssertion = async (named: string | undefined, assertion: string): Promise<Proven | Unproven> => {
    const claimedId = assertions.claimedClient(assertion) ?? named ?? '';
    const holder = await findKeyHolder(db, isUuid(claimedId) ? claimedId : nobody);
    const refused: Unproven = { standing: holder, claimedId, reason: wrong };
    if (!holder || (named !== undefined && named !== claimedId)) return refused;
    const verified = await assertions.verify(assertion, holder.keys, { client: claimedId, audiences });
    if (!verified) return refused;
    return {
      standing: holder,
      async lostBy(tx, now) {
        if (!isDeepStrictEqual(now.keys, holder.keys)) return 'the keys were replaced meanwhile';
        return (await insertAssertion(tx, holder.agentId, verified))
          ? undefined
          : 'the assertion was used before';
      },
    };
  };

  return async (presented: Presented): Promise<Proven | Unproven> => {
    switch (presented.kind) {
      case 'secret':
        return bySecret(presented.clientId, presented.clientSecret);
      case 'assertion':
        return byAssertion(presented.clientId, presented.assertion);
      case 'unusable':
        return { standing: undefined, claimedId: presented.clientId, reason: presented.problem };
    }
  };
}
