/** Which proofs an event makes, and the changes that the holder of such a proof is refused. */
import type { EventType } from '../../contract/events.ts';
import type { Actor, Caller } from '../../kernel/caller.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import type { DomainEvent, LedgerListener } from '../../kernel/domain-event.ts';
import { fail } from '../../kernel/fail.ts';
import type { FindPolicyPower } from '../workload-identity/policies/store.ts';
import { insertProofs, isProvisionedBy } from './store.ts';

/** One for all keys of the agent: a change replaces them all. */
const keysOf = (agentId: string): string => `${agentId} keys`;

/** The ids of all proofs by which the actor acts: its agent, its proof of being the agent, and the links of its delegation. */
function proofsOf(actor: Actor): string[] {
  const { agentId, credentialId, keyId, trustPolicyId, sessionId, person, delegation } = actor;
  if (agentId === undefined) return [];
  const keys = keyId === undefined ? undefined : keysOf(agentId);
  const own = [agentId, credentialId, keys, trustPolicyId, sessionId, person?.personId];
  return [...own.filter((id) => id !== undefined), ...(delegation?.chainIds ?? [])];
}

/** Throws if the event lost the field: its proof would go unrecorded. */
function idIn(data: DomainEvent['data'], field: string): string {
  const id = data[field];
  if (typeof id !== 'string') throw new TypeError(`the event has no ${field}`);
  return id;
}

/** The proofs that an event makes, gives to another holder, or gives more power. */
const madeProofs: Partial<Record<EventType, (event: DomainEvent) => readonly string[]>> = {
  'agent.created': ({ agentId }) => [agentId],
  'agent.updated': ({ agentId, data }) => [
    ...(data.kids === undefined ? [] : [keysOf(agentId)]),
    ...(listIn(data, 'changed').includes('allowedScopes') ? [agentId] : []),
  ],
  'agent.reactivated': ({ agentId }) => [agentId],
  'credential.generated': ({ data }) => [idIn(data, 'credentialId')],
  'credential.rotated': ({ data }) => [idIn(data, 'credentialId')],
  'trust_policy.created': ({ data }) => [idIn(data, 'policyId')],
  'trust_policy.updated': ({ data }) => [idIn(data, 'policyId')],
  'member.added': ({ agentId, data }) => (data.role === 'admin' ? [agentId] : []),
  'member.updated': ({ agentId, data }) => (data.role === 'admin' ? [agentId] : []),
  // With a reason, a change of the resource or a share has narrowed it.
  'grant.changed': ({ agentId, data }) => (data.reason === undefined ? [agentId] : []),
  'person.invited': ({ data }) => [idIn(data, 'personId')],
  'person.updated': ({ data }) => [idIn(data, 'personId')],
  'session.created': ({ data }) => [idIn(data, 'sessionId')],
  'delegation.created': ({ data }) => [idIn(data, 'chainId')],
};

const listIn = (data: DomainEvent['data'], field: string): readonly unknown[] => {
  const value = data[field];
  return Array.isArray(value) ? value : [];
};

/** Those that end by themselves, at `data.expiresAt`. */
const temporary: readonly EventType[] = ['session.created', 'delegation.created'];

/**
 * A workload's token may be older than the last change of its policy. The token lives on, but it makes no more lasting proofs than the
 * policy allows now.
 */
async function requirePolicy(tx: Tx, actor: Actor, findPolicyPower: FindPolicyPower): Promise<void> {
  const { agentId, trustPolicyId, scopes = [] } = actor;
  if (trustPolicyId === undefined || agentId === undefined) return;
  const power = await findPolicyPower(tx, { agentId, trustPolicyId });
  if (!power.isActive || [...scopes].some((scope) => !power.scopes.includes(scope)))
    fail('FORBIDDEN', {
      message:
        'The trust policy that gave your token is disabled, was deleted, or has fewer scopes now: get a new token.',
    });
}

export const createProofsListener = (findPolicyPower: FindPolicyPower): LedgerListener => ({
  types: Object.keys(madeProofs) as EventType[],
  async inTransaction(tx, events) {
    for (const event of events) {
      const { actor, type, data } = event;
      const made = madeProofs[type]?.(event) ?? [];
      const proofs = proofsOf(actor);
      if (made.length === 0 || proofs.length === 0) continue;
      const isTemporary = temporary.includes(type);
      if (!isTemporary) await requirePolicy(tx, actor, findPolicyPower);
      const workload = actor.trustPolicyId === undefined ? undefined : actor.agentId;
      const expiresAt = isTemporary ? String(data.expiresAt) : undefined;
      insertProofs(tx, { made, madeBy: proofs, workload, expiresAt });
    }
  },
});

/**
 * A credential, a key, a trust policy, a grant or a listing of its own agent would last longer than a workload's token and reach
 * further than the trust policy that gave it. The same is true if the workload makes it by a proof of another agent that it
 * provisioned, or by a delegation.
 */
export async function refuseOwnAgent(db: Queryable, caller: Caller, ownerId: string): Promise<void> {
  const { trustPolicyId, agentId } = caller;
  if (trustPolicyId !== undefined && ownerId === agentId)
    fail('FORBIDDEN', {
      message:
        'A token by a trust policy cannot give its own agent power, or speak for it: use another agent, or a secret or a key of this one.',
    });
  if (await isProvisionedBy(db, proofsOf(caller), ownerId))
    fail('FORBIDDEN', {
      message:
        'A workload of this agent made your agent, your credential or your delegation, which cannot give that agent power, or speak for it.',
    });
}

/**
 * Changes to an agent (a credential, a reactivation, a listing) outlive a workload's token and a delegation. A workload may not make
 * them for its own agent. A delegated caller may make them only if its own agent may hold `agents:write`, and never for another agent
 * of its chain: that agent's credential would give tokens without `act`, without expiry and beyond revocation.
 */
export async function refuseLastingPower(db: Queryable, caller: Caller, ownerId: string): Promise<void> {
  await refuseOwnAgent(db, caller, ownerId);
  const { delegation, agentId, grantableScopes } = caller;
  if (!delegation) return;
  if (ownerId !== agentId && [delegation.subjectId, ...delegation.actorIds].includes(ownerId))
    fail('FORBIDDEN', {
      message: 'A delegated token cannot give power to, or speak for, another agent of its own chain.',
    });
  if (!grantableScopes.has('agents:write'))
    fail('FORBIDDEN', {
      message:
        'A delegated token can give power to an agent, or speak for it, only if your own agent may hold agents:write.',
      details: { exceeded: ['agents:write'] },
    });
}
