import { isDeepStrictEqual } from 'node:util';
import type { EventType } from '../../../contract/events.ts';
import { scopes } from '../../../contract/scopes.ts';
import { type Caller, isOperator, missingRole, tenantOf } from '../../../kernel/caller.ts';
import { isoTime } from '../../../kernel/clock.ts';
import type { Tx } from '../../../kernel/data/db.ts';
import { fail } from '../../../kernel/fail.ts';
import { refuseProof } from '../../../kernel/http/input/proofs.ts';
import { timeRangeOf } from '../../../kernel/http/input/time-range.ts';
import { type Page, pageOf } from '../../../kernel/http/page.ts';
import type { Agent } from '../../agents/schema.ts';
import type { WorkloadIdentityDeps } from '../feature.ts';
import type { NewTrustPolicy, TrustPolicy, TrustPolicyChange, TrustPolicyQuery } from '../schema.ts';
import { policyKeysOf } from './lookup-keys.ts';
import { defaultIssuer } from './presets.ts';
import { requireHeld } from './resource-entries.ts';
import {
  deletePolicy,
  findPolicy,
  hasEqual,
  insertPolicy,
  listPolicies,
  lockPolicyExclusive,
  updatePolicy,
} from './store.ts';
import { validatePolicy } from './validate.ts';

export interface PolicyService {
  create(caller: Caller, wanted: NewTrustPolicy): Promise<TrustPolicy>;
  list(caller: Caller, query: TrustPolicyQuery): Promise<Page<TrustPolicy>>;
  get(caller: Caller, policyId: string): Promise<TrustPolicy>;
  update(caller: Caller, policyId: string, change: TrustPolicyChange): Promise<TrustPolicy>;
  remove(caller: Caller, policyId: string): Promise<void>;
}

export function createPolicyService(deps: WorkloadIdentityDeps): PolicyService {
  const { db, clock, ids, ledger, lockAgent, endDelegationsOf, roleOf, findHeldScopes } = deps;
  const { refuseImpersonation, refuseOwnAgent } = deps;

  const record = (
    tx: Tx,
    caller: Caller,
    type: EventType,
    { organizationId, agentId, policyId, ...policy }: TrustPolicy,
    more: object = {},
  ) => {
    const {
      name,
      provider,
      issuer,
      jwksUri,
      audiences,
      subject,
      conditions,
      scopes: granted,
      resources,
      actsAsAdmin,
      status,
    } = policy;
    const metadata = { policyId, name, provider, issuer, jwksUri, audiences, subject, conditions, status };
    return ledger.record(tx, caller, type, {
      organizationId,
      agentId,
      metadata: { ...metadata, scopes: granted, resources, actsAsAdmin, ...more },
    });
  };

  /** Lock order: the agent first, then the policy, as in an exchange. */
  const lockAgentAndPolicy = async (tx: Tx, caller: Caller, policyId: string) => {
    const tenant = tenantOf(caller);
    const found = (await findPolicy(tx, tenant, policyId)) ?? fail('TRUST_POLICY_NOT_FOUND');
    const agent = await lockAgent(tx, caller, found.agentId);
    // Before any comparison: a workload changes no policy of its own agent, not even to take something away.
    await refuseOwnAgent(tx, caller, agent.agentId);
    const policy = (await lockPolicyExclusive(tx, tenant, policyId)) ?? fail('TRUST_POLICY_NOT_FOUND');
    return { policy, agent };
  };

  /**
   * A caller cannot admit others as an agent that it could not become itself, nor with scopes beyond the agent's. A policy that acts as
   * admin is for admins, also while its agent has no such role: the agent may get the role later.
   */
  const authorizePolicy = async (
    tx: Tx,
    caller: Caller,
    agent: Agent,
    policy: TrustPolicy,
    before?: TrustPolicy,
  ) => {
    await refuseImpersonation(tx, caller, agent);
    refuseProof(agent, { in: 'body', field: 'agentId' });
    const concernsRole = policy.actsAsAdmin || before?.actsAsAdmin;
    if (concernsRole && !isOperator(caller) && (await roleOf(caller, tx)) !== 'admin')
      fail('FORBIDDEN', {
        message: `A policy with actsAsAdmin needs the role admin in the organization${missingRole(caller)}, or scope admin:orgs.`,
      });
    const exceeded = policy.scopes.filter((scope) => !agent.allowedScopes.includes(scope));
    if (exceeded.length > 0) {
      fail('FORBIDDEN', {
        message: `The agent itself may not hold ${exceeded.join(', ')}.`,
        details: { exceeded },
      });
    }
  };

  return {
    async create(caller, wanted) {
      const now = isoTime(clock);
      const { agentId, scopes: granted, ...rest } = wanted;
      const withDefaults = {
        issuer: defaultIssuer(wanted.provider),
        jwksUri: null,
        subject: null,
        conditions: [],
        resources: [],
        actsAsAdmin: false,
        maxTokenAgeSeconds: 600,
        singleUse: true,
        status: 'active' as const,
        ...rest,
        scopes: inContractOrder(granted),
      };
      const valid = validatePolicy(withDefaults, deps);
      return db.transaction(async (tx) => {
        const agent = await lockAgent(tx, caller, agentId);
        if (agent.status === 'decommissioned') fail('AGENT_DECOMMISSIONED');
        const policy: TrustPolicy = {
          ...valid,
          policyId: ids.uuid(),
          organizationId: agent.organizationId,
          agentId: agent.agentId,
          lastUsedAt: null,
          createdAt: now,
          updatedAt: now,
        };
        await authorizePolicy(tx, caller, agent, policy);
        await requireHeld(tx, policy, findHeldScopes);
        if (!(await insertPolicy(tx, policy, policyKeysOf(policy)))) fail('TRUST_POLICY_ALREADY_EXISTS');
        await record(tx, caller, 'trust_policy.created', policy);
        return policy;
      });
    },

    async list(caller, query) {
      const { rows, total } = await listPolicies(db, tenantOf(caller), query, timeRangeOf(query));
      return pageOf(query, rows, total);
    },

    get: async (caller, policyId) =>
      (await findPolicy(db, tenantOf(caller), policyId)) ?? fail('TRUST_POLICY_NOT_FOUND'),

    update: (caller, policyId, requested) =>
      db.transaction(async (tx) => {
        const { policy: before, agent } = await lockAgentAndPolicy(tx, caller, policyId);
        const change = requested.scopes
          ? { ...requested, scopes: inContractOrder(requested.scopes) }
          : requested;
        const changed = changedFields(before, change);
        if (changed.length === 0) return before;
        if (agent.status === 'decommissioned') fail('AGENT_DECOMMISSIONED');
        const after: TrustPolicy = {
          ...validatePolicy({ ...before, ...change }, deps),
          updatedAt: isoTime(clock),
        };
        // Disabling takes power away, so nothing more is needed for it than for deleting.
        const onlyDisables = changed.join() === 'status' && after.status === 'disabled';
        if (!onlyDisables) await authorizePolicy(tx, caller, agent, after, before);
        // An entry stays when the grant is narrowed: the exchange gives the scopes of both.
        if (changed.includes('resources')) await requireHeld(tx, after, findHeldScopes);
        if (await hasEqual(tx, after, policyKeysOf(after))) fail('TRUST_POLICY_ALREADY_EXISTS');
        await updatePolicy(tx, after, policyKeysOf(after));
        if (after.status === 'disabled') await endDelegationsOf(tx, caller, after.policyId);
        else if (changed.includes('scopes')) await endDelegationsOf(tx, caller, after.policyId, after.scopes);
        await record(tx, caller, 'trust_policy.updated', after, { changed });
        return after;
      }),

    async remove(caller, policyId) {
      await db.transaction(async (tx) => {
        const { policy } = await lockAgentAndPolicy(tx, caller, policyId);
        await deletePolicy(tx, policy.policyId);
        await endDelegationsOf(tx, caller, policy.policyId);
        await record(tx, caller, 'trust_policy.deleted', policy);
      });
    },
  };
}

const inContractOrder = (granted: NewTrustPolicy['scopes']) =>
  scopes.filter((scope) => granted.includes(scope));

const changedFields = (before: TrustPolicy, change: TrustPolicyChange): string[] =>
  Object.entries(change)
    .filter(([field, value]) => !isDeepStrictEqual(value, before[field as keyof TrustPolicyChange]))
    .map(([field]) => field);
