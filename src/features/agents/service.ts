import { organizationScopes, type Scope, scopes } from '../../contract/scopes.ts';
import { type Actor, type Caller, isOperator, refuseAmplification } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/db.ts';
import { fail } from '../../kernel/fail.ts';
import { type Page, pageOf } from '../../kernel/page.ts';
import { validationError } from '../../kernel/validation.ts';
import type { AgentDeps } from './feature.ts';
import type { Agent, AgentQuery, NewAgent } from './schema.ts';
import { findAgent, findOperator, insertAgent, listAgents, lockAgent } from './store.ts';

export type AgentToRegister = Omit<NewAgent, 'organization_id' | 'allowedScopes'> & {
  readonly organizationId: string;
  readonly allowedScopes: readonly Scope[];
};

export interface AgentService {
  create(caller: Caller, wanted: NewAgent): Promise<Agent>;
  list(caller: Caller, query: AgentQuery): Promise<Page<Agent>>;
  /** The agent, if the caller may see it; AGENT_NOT_FOUND otherwise. */
  get(caller: Caller, agentId: string): Promise<Agent>;
  /** The change itself, for callers that have settled who may: `create`, and bootstrap. */
  register(tx: Tx, actor: Actor, wanted: AgentToRegister, agentId?: string): Promise<Agent>;
  /** Keeps the agent from changing until the transaction ends; answers how it stands. */
  hold(tx: Tx, agentId: string): Promise<Agent['status'] | undefined>;
  /** The oldest active agent that holds the operator's scope. */
  findOperator(tx: Tx): Promise<Agent | undefined>;
}

/** The operator crosses organizations; everyone else sees its own only. */
const tenantOf = (caller: Caller): string | undefined =>
  isOperator(caller) ? undefined : caller.organizationId;

export function createAgentService(deps: AgentDeps): AgentService {
  const { db, clock, ids, ledger, metrics, multiTenant, organizationExists } = deps;

  const register: AgentService['register'] = async (tx, actor, wanted, agentId = ids.uuid()) => {
    const now = isoTime(clock);
    const agent: Agent = {
      ...wanted,
      agentId,
      allowedScopes: inContractOrder(wanted.allowedScopes),
      status: 'active',
      createdAt: now,
      updatedAt: now,
    };
    if (!(await insertAgent(tx, agent))) {
      fail('AGENT_ALREADY_EXISTS', { details: { field: 'email' } });
    }
    const { agentType, status, owner, version, deploymentEnv, organizationId, allowedScopes } = agent;
    await ledger.record(tx, actor, 'agent.created', {
      organizationId,
      agentId,
      metadata: { agentType, status, owner, version, deploymentEnv, allowedScopes },
    });
    tx.afterCommit(() => metrics.count('service_agents_registered_total', { deployment_env: deploymentEnv }));
    return agent;
  };

  const homeOf = async (caller: Caller, asked: string | undefined): Promise<string> => {
    if (asked === undefined && multiTenant) {
      throw validationError('body', [
        { in: 'body', field: 'organization_id', message: 'is required on a multi-tenant instance' },
      ]);
    }
    // UUIDs are the same in either case; SQL answers in lower case.
    const home = asked?.toLowerCase() ?? caller.organizationId;
    if (home === caller.organizationId) return home;
    if (!isOperator(caller)) {
      fail('FORBIDDEN', { message: 'Agents can be created in your own organization only.' });
    }
    if (!(await organizationExists(home))) fail('ORG_NOT_FOUND');
    return home;
  };

  return {
    register,
    async create(caller, { organization_id, allowedScopes, ...wanted }) {
      const granted = allowedScopes ?? organizationScopes.filter((scope) => caller.scopes.has(scope));
      refuseAmplification(caller, granted);
      const organizationId = await homeOf(caller, organization_id);
      return db.transaction((tx) =>
        register(tx, caller, { ...wanted, organizationId, allowedScopes: granted }),
      );
    },
    async list(caller, query) {
      const { rows, total } = await listAgents(db, tenantOf(caller), query);
      return pageOf(query, rows, total);
    },
    async get(caller, agentId) {
      return (await findAgent(db, tenantOf(caller), agentId)) ?? fail('AGENT_NOT_FOUND');
    },
    hold: lockAgent,
    findOperator,
  };
}

const inContractOrder = (granted: readonly Scope[]): Scope[] =>
  scopes.filter((scope) => granted.includes(scope));
