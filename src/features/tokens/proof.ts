/** Whether a client is who it says: by a secret whose hash we keep, or by an assertion signed with a key it registered. */
import { createGatherer } from '../../kernel/gather.ts';
import { isUuid } from '../../kernel/ids.ts';
import { hashSecret, nobodysHash, sameHash } from '../../kernel/secrets.ts';
import type { Presented } from './client.ts';
import type { TokenDeps } from './feature.ts';
import { findClients, findKeyHolder, type KeyHolder, type Standing } from './store.ts';

/** What was shown, for looking once more when the token is recorded. */
export type Proof =
  | { readonly kind: 'secret'; readonly credentialId: string; readonly secretHash: Buffer }
  | {
      readonly kind: 'assertion';
      readonly keys: KeyHolder['keys'];
      readonly assertionId: string;
      readonly expiresAt: Date;
    };

export interface Proven {
  readonly standing: Standing;
  readonly proof: Proof;
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

  const findClient = createGatherer({
    run: (asked: readonly { agentId: string; secretHash: Buffer }[]) =>
      findClients(db, asked, new Date(clock.now())),
    atMost: 100,
    waiting: 2_000,
  });

  /** Unknown id and wrong secret take the same steps and get the same answer. */
  const bySecret = async (clientId: string, secret: string): Promise<Proven | Unproven> => {
    const secretHash = hashSecret(secret);
    const client = await findClient({ agentId: isUuid(clientId) ? clientId : nobody, secretHash });
    const matched = sameHash(secretHash, client?.secretHash ?? nobodysHash);
    const credentialId = client?.credentialId;
    if (!client || !credentialId || !matched) return { standing: client, claimedId: clientId, reason: wrong };
    return { standing: client, proof: { kind: 'secret', credentialId, secretHash } };
  };

  const byAssertion = async (named: string | undefined, assertion: string): Promise<Proven | Unproven> => {
    const claimedId = assertions.claimedClient(assertion) ?? named ?? '';
    const holder = await findKeyHolder(db, isUuid(claimedId) ? claimedId : nobody);
    const refused: Unproven = { standing: holder, claimedId, reason: wrong };
    if (!holder || (named !== undefined && named !== claimedId)) return refused;
    const verified = await assertions.verify(assertion, holder.keys, { client: claimedId, audiences });
    if (!verified) return refused;
    return { standing: holder, proof: { kind: 'assertion', keys: holder.keys, ...verified } };
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
