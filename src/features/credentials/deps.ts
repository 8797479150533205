import type { Actor, Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import type { Page } from '../../kernel/http/page.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type {
  Credential,
  CredentialQuery,
  CredentialRotation,
  CredentialWithSecret,
  NewCredential,
} from './schema.ts';

/** The agent that a credential belongs to. */
export interface CredentialAgent {
  readonly agentId: string;
  readonly organizationId: string;
  readonly status: 'active' | 'suspended' | 'decommissioned';
  readonly allowedScopes: readonly string[];
}

export interface CredentialDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  /** The agent, if the caller may see it; AGENT_NOT_FOUND otherwise. */
  agentFor(caller: Caller, agentId: string): Promise<CredentialAgent>;
  /** The agent for a change of its credentials, locked until the transaction ends; refuses as above. */
  lockAgent(tx: Tx, caller: Caller, agentId: string): Promise<CredentialAgent>;
  /** FORBIDDEN unless the caller holds all that the agent holds: the holder of its secret can act as the agent. */
  refuseImpersonation(tx: Tx, caller: Caller, agent: CredentialAgent): Promise<void>;
  readonly metrics: Metrics;
}

export interface CredentialPath {
  readonly agentId: string;
  readonly credentialId: string;
}

export interface CredentialService {
  generate(caller: Caller, agentId: string, wanted: NewCredential): Promise<CredentialWithSecret>;
  list(caller: Caller, agentId: string, query: CredentialQuery): Promise<Page<Credential>>;
  rotate(caller: Caller, path: CredentialPath, wanted: CredentialRotation): Promise<CredentialWithSecret>;
  revoke(caller: Caller, path: CredentialPath): Promise<void>;
  /** The insert itself, for callers that have authorized it: `generate`, and bootstrap. */
  issue(
    tx: Tx,
    actor: Actor,
    agent: CredentialAgent,
    wanted: Pick<Credential, 'expiresAt' | 'name'>,
  ): Promise<CredentialWithSecret>;
  /** Whether the agent can authenticate with this secret now. `dev` checks the secret that it has stored. */
  isValidSecret(agentId: string, clientSecret: string): Promise<boolean>;
  /** The credential with which the agent can authenticate now by this secret. */
  findBySecret(db: Queryable, agentId: string, clientSecret: string): Promise<string | undefined>;
  /** For the end of an agent, whose own event covers it. */
  revokeAllOf(tx: Tx, agentId: string): Promise<void>;
  /** Active credentials that expire within a week. */
  countExpiringSoon(): Promise<number>;
}

export interface CredentialUses {
  /** Notes that a client has authenticated with the credential. `lastUsedAt` is written within a second or two. */
  recordUse(credentialId: string): void;
  /** Writes the uses that are in memory. */
  flushUses(): Promise<void>;
}

export interface Credentials extends CredentialService, CredentialUses {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
}
