import { isDeepStrictEqual } from 'node:util';
import type { EventType } from '../../../contract/events.ts';
import { scopes } from '../../../contract/scopes.ts';
import { type Caller, tenantOf } from '../../../kernel/caller.ts';
import { isoTime } from '../../../kernel/clock.ts';
import type { Tx } from '../../../kernel/data/db.ts';
import { fail } from '../../../kernel/fail.ts';
import { type Page, pageOf } from '../../../kernel/http/page.ts';
import type { Holder, OidcDeps } from '../deps.ts';
import type { NewTrustPolicy, TrustPolicy, TrustPolicyChange, TrustPolicyQuery } from '../schema.ts';
import { keysOf } from './lookup-keys.ts';
import { defaultIssuer } from './presets.ts';
import {
  deletePolicy,
  findPolicy,
  hasEqual,
  insertPolicy,
  listPolicies,
  lockPolicy,
  updatePolicy,
} from './store.ts';
import { refuseUnsound } from './validate.ts';

export interface PolicyService {
  create(caller: Caller, wanted: NewTrustPolicy): Promise<TrustPolicy>;
  list(caller: Caller, query: TrustPolicyQuery): Promise<Page<TrustPolicy>>;
  get(caller: Caller, policyId: string): Promise<TrustPolicy>;
  update(caller: Caller, policyId: string, change: TrustPolicyChange): Promise<TrustPolicy>;
  remove(caller: Caller, policyId: string): Promise<void>;
}

export function createPolicyService(deps: OidcDeps): PolicyService {
  const { db, clock, ids, ledger, lockAgent, refuseImpersonation } = deps;

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
      status,
    } = policy;
    const metadata = { policyId, name, provider, issuer, jwksUri, audiences, subject, conditions, status };
    return ledger.record(tx, caller, type, {
      organizationId,
      agentId,
      metadata: { ...metadata, scopes: granted, ...more },
    });
  };

  /** The agent first, then the policy: whoever comes in by a policy takes them in the same order. */
  const held = async (tx: Tx, caller: Caller, policyId: string) => {
    const tenant = tenantOf(caller);
    const found = (await findPolicy(tx, tenant, policyId)) ?? fail('TRUST_POLICY_NOT_FOUND');
    const agent = await lockAgent(tx, caller, found.agentId);
    const policy = (await lockPolicy(tx, tenant, policyId)) ?? fail('TRUST_POLICY_NOT_FOUND');
    return { policy, agent };
  };

  /** Nobody lets others in as somebody whom they could not be themselves. */
  const refuseTooMuch = async (tx: Tx, caller: Caller, agent: Holder, policy: TrustPolicy) => {
    await refuseImpersonation(tx, caller, agent);
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
      const described = {
        issuer: defaultIssuer(wanted.provider),
        jwksUri: null,
        subject: null,
        conditions: [],
        maxTokenAgeSeconds: 600,
        singleUse: true,
        status: 'active' as const,
        ...rest,
        scopes: inContractOrder(granted),
      };
      const sound = refuseUnsound(described, deps);
      return db.transaction(async (tx) => {
        const agent = await lockAgent(tx, caller, agentId);
        if (agent.status === 'decommissioned') fail('AGENT_DECOMMISSIONED');
        const policy: TrustPolicy = {
          ...sound,
          policyId: ids.uuid(),
          organizationId: agent.organizationId,
          agentId: agent.agentId,
          lastUsedAt: null,
          createdAt: now,
          updatedAt: now,
        };
        await refuseTooMuch(tx, caller, agent, policy);
        if (!(await insertPolicy(tx, policy, keysOf(policy)))) fail('TRUST_POLICY_ALREADY_EXISTS');
        await record(tx, caller, 'trust_policy.created', policy);
        return policy;
      });
    },

    async list(caller, query) {
      const { rows, total } = await listPolicies(db, tenantOf(caller), query);
      return pageOf(query, rows, total);
    },

    get: async (caller, policyId) =>
      (await findPolicy(db, tenantOf(caller), policyId)) ?? fail('TRUST_POLICY_NOT_FOUND'),

    update: (caller, policyId, asked) =>
      db.transaction(async (tx) => {
        const { policy: before, agent } = await held(tx, caller, policyId);
        const change = asked.scopes ? { ...asked, scopes: inContractOrder(asked.scopes) } : asked;
        const changed = changedFields(before, change);
        if (changed.length === 0) return before;
        if (agent.status === 'decommissioned') fail('AGENT_DECOMMISSIONED');
        const after: TrustPolicy = {
          ...refuseUnsound({ ...before, ...change }, deps),
          updatedAt: isoTime(clock),
        };
        await refuseTooMuch(tx, caller, agent, after);
        if (await hasEqual(tx, after, keysOf(after))) fail('TRUST_POLICY_ALREADY_EXISTS');
        await updatePolicy(tx, after, keysOf(after));
        await record(tx, caller, 'trust_policy.updated', after, { changed });
        return after;
      }),

    async remove(caller, policyId) {
      await db.transaction(async (tx) => {
        const { policy } = await held(tx, caller, policyId);
        await deletePolicy(tx, policy.policyId);
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
