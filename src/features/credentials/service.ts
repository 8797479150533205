import { type Actor, type Caller, refuseAmplification } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/db.ts';
import { fail } from '../../kernel/fail.ts';
import { hashSecret, secretPrefix } from '../../kernel/secrets.ts';
import { validationError } from '../../kernel/validation.ts';
import type { CredentialDeps, Owner } from './feature.ts';
import type { Credential, CredentialWithSecret, NewCredential } from './schema.ts';
import { insertCredential } from './store.ts';

export interface CredentialService {
  generate(caller: Caller, agentId: string, wanted: NewCredential): Promise<CredentialWithSecret>;
  /** The change itself, for callers that have settled who may: `generate`, and bootstrap. */
  mint(tx: Tx, actor: Actor, owner: Owner, expiresAt: string | null): Promise<CredentialWithSecret>;
}

export function createCredentialService(deps: CredentialDeps): CredentialService {
  const { db, clock, ids, ledger, agentFor, holdAgent } = deps;

  const mint: CredentialService['mint'] = async (tx, actor, owner, expiresAt) => {
    const clientSecret = ids.secret(secretPrefix);
    const credential: Credential = {
      credentialId: ids.uuid(),
      clientId: owner.agentId,
      status: 'active',
      createdAt: isoTime(clock),
      expiresAt,
      revokedAt: null,
    };
    await insertCredential(tx, credential, hashSecret(clientSecret));
    await ledger.record(tx, actor, 'credential.generated', {
      organizationId: owner.organizationId,
      agentId: owner.agentId,
      metadata: { credentialId: credential.credentialId, expiresAt },
    });
    return { ...credential, clientSecret };
  };

  return {
    mint,
    async generate(caller, agentId, wanted) {
      const owner = await agentFor(caller, agentId);
      refuseAmplification(caller, owner.allowedScopes);
      const expiresAt = futureTime(wanted.expiresAt, clock.now());
      return db.transaction(async (tx) => {
        // Read again under lock: a suspension that commits first must win.
        if ((await holdAgent(tx, agentId)) !== 'active') fail('AGENT_NOT_ACTIVE');
        return mint(tx, caller, owner, expiresAt);
      });
    },
  };
}

function futureTime(asked: string | undefined, now: number): string | null {
  if (asked === undefined) return null;
  const time = new Date(asked);
  const problem = (message: string) => validationError('body', [{ in: 'body', field: 'expiresAt', message }]);
  if (Number.isNaN(time.getTime()) || time.getUTCFullYear() > 9999)
    throw problem('must be a real date before the year 10000');
  if (time.getTime() <= now) throw problem('must be in the future');
  return time.toISOString();
}
