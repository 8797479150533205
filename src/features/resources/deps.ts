import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import type { Page } from '../../kernel/http/page.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { MayGrant, RequirePermission, Role } from '../../kernel/policy.ts';
import type { Outbound } from '../../kernel/ports/outbound.ts';
import type { ResourceAccess } from '../../kernel/ports/resources.ts';
import type { FindPolicyPower } from '../../kernel/ports/trust-policies.ts';
import type { IdentifierMode } from './identifier.ts';
import type {
  AgentGrantQuery,
  Grant,
  GrantQuery,
  ListQuery,
  NewResource,
  Resource,
  ResourceChange,
  ResourceQuery,
  ScopeNames,
  VerificationRequest,
} from './schema.ts';
import type { ListedShare, ReceivedShare, ReceivedShareQuery, Share } from './shares/share-schema.ts';

export interface GrantedAgent {
  readonly agentId: string;
  readonly organizationId: string;
  readonly status: 'active' | 'suspended' | 'decommissioned';
}

export interface ResourceDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly issuer: string;
  /** Whether the owner of a resource must prove the host of its identifier. */
  readonly resourceIdentifiers: IdentifierMode;
  /** Asks the host of an identifier for its proof. */
  readonly outbound: Outbound;
  readonly requirePermission: RequirePermission;
  /** Locks the organization until the transaction ends, so that concurrent requests cannot exceed its limit of resources. */
  lockOrganization(tx: Tx, organizationId: string): Promise<object | undefined>;
  /** Undefined when there is no such organization. */
  organizationOf(db: Queryable, organizationId: string): Promise<{ status: string } | undefined>;
  /** The agent, if the caller may see it; AGENT_NOT_FOUND otherwise. */
  agentFor(caller: Caller, agentId: string): Promise<GrantedAgent>;
  /** The agent for a change of its grants, locked until the transaction ends; refuses as above. */
  lockAgent(tx: Tx, caller: Caller, agentId: string): Promise<GrantedAgent>;
  /** The caller's role in its own organization. */
  roleOf(caller: Caller, within: Queryable): Promise<Role>;
  readonly mayGrant: MayGrant;
  readonly findPolicyPower: FindPolicyPower;
  /** Records that the policies do not let the caller grant. */
  recordRefusal(caller: Caller, action: 'resources:grant'): Promise<void>;
}

export interface SharePath {
  readonly resourceId: string;
  readonly organizationId: string;
}

export interface GrantPath {
  readonly agentId: string;
  readonly resourceId: string;
}

export interface ResourceService {
  create(caller: Caller, wanted: NewResource): Promise<Resource>;
  list(caller: Caller, query: ResourceQuery): Promise<Page<Resource>>;
  get(caller: Caller, resourceId: string): Promise<Resource>;
  update(caller: Caller, resourceId: string, change: ResourceChange): Promise<Resource>;
  remove(caller: Caller, resourceId: string): Promise<void>;
}

export interface VerificationService {
  verify(caller: Caller, resourceId: string, request: VerificationRequest): Promise<Resource>;
}

/** For the organization that resources are shared with. */
export interface ReceivedShareService {
  list(caller: Caller, query: ReceivedShareQuery): Promise<Page<ReceivedShare>>;
  accept(caller: Caller, resourceId: string): Promise<ReceivedShare>;
  /** Declines an offer, or leaves a share. */
  decline(caller: Caller, resourceId: string): Promise<void>;
}

export interface ShareService {
  list(caller: Caller, resourceId: string, query: ListQuery): Promise<Page<ListedShare>>;
  put(caller: Caller, path: SharePath, wanted: ScopeNames): Promise<Share>;
  remove(caller: Caller, path: SharePath): Promise<void>;
}

export interface GrantService {
  listOfAgent(caller: Caller, agentId: string, query: AgentGrantQuery): Promise<Page<Grant>>;
  /** Of agents of the caller's own organization. */
  listOfResource(caller: Caller, resourceId: string, query: GrantQuery): Promise<Page<Grant>>;
  put(caller: Caller, path: GrantPath, wanted: ScopeNames): Promise<Grant>;
  remove(caller: Caller, path: GrantPath): Promise<void>;
}

export interface Resources {
  readonly routes: readonly RouteEntry[];
  readonly access: ResourceAccess;
  /** The grants of an agent, newest first. */
  listGrants(agentId: string, limit: number): Promise<Grant[]>;
}
