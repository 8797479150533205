import type { EventType } from '../../contract/events.ts';
import type { Actor, Caller } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { refuseProof } from '../../kernel/http/input/proofs.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import { hashSecret, secretPrefix } from '../../kernel/secrets.ts';
import type { Agent } from '../agents/schema.ts';
import type { CredentialDeps } from './feature.ts';
import type {
  Credential,
  CredentialQuery,
  CredentialRotation,
  CredentialWithSecret,
  NewCredential,
} from './schema.ts';
import {
  countExpiring,
  findCredentialBySecret,
  findExpiries,
  hasActiveCredentials,
  insertCredential,
  listCredentials,
  lockCredential,
  markAllRevoked,
  markRevoked,
  replaceSecret,
} from './store.ts';
import { eventOf } from './transitions.ts';
import type { CredentialUses } from './uses.ts';

interface CredentialPath {
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
    agent: Pick<Agent, 'agentId' | 'organizationId' | 'allowedScopes'>,
    wanted: Pick<Credential, 'expiresAt' | 'name'>,
  ): Promise<CredentialWithSecret>;
  /** Whether the agent can authenticate with this secret now. `dev` checks the secret that it has stored. */
  isValidSecret(agentId: string, clientSecret: string): Promise<boolean>;
  /** The credential with which the agent can authenticate now by this secret. */
  findBySecret(db: Queryable, agentId: string, clientSecret: string): Promise<string | undefined>;
  /** For the end of an agent, whose own event covers it. */
  revokeAllOf(tx: Tx, agentId: string): Promise<void>;
  hasActive(tx: Tx, agentId: string): Promise<boolean>;
  /** By agent id: when the next secret expires, or when the last has expired. Agents without one that expires are absent. */
  secretExpiries(agentIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Active credentials that expire within a week. */
  countExpiringSoon(): Promise<number>;
}

const weekMs = 7 * 86_400_000;

export function createCredentialService(
  deps: CredentialDeps,
  { flushUses }: Pick<CredentialUses, 'flushUses'>,
): CredentialService {
  const { db, clock, ids, ledger, agentFor, lockAgent, refuseImpersonation } = deps;

  const record = (
    tx: Tx,
    actor: Actor,
    event: EventType,
    {
      organizationId,
      agentId,
      allowedScopes: scopes,
    }: Pick<Agent, 'agentId' | 'organizationId' | 'allowedScopes'>,
    { credentialId, expiresAt }: Credential,
  ) =>
    ledger.record(tx, actor, event, {
      organizationId,
      agentId,
      metadata: { credentialId, credentialType: 'client_secret', scopes, expiresAt },
    });

  const issue: CredentialService['issue'] = async (tx, actor, agent, { expiresAt, name }) => {
    const clientSecret = ids.secret(secretPrefix);
    const credential: Credential = {
      credentialId: ids.uuid(),
      clientId: agent.agentId,
      name,
      status: 'active',
      createdAt: isoTime(clock),
      expiresAt,
      revokedAt: null,
      lastUsedAt: null,
    };
    await insertCredential(tx, credential, hashSecret(clientSecret));
    await record(tx, actor, 'credential.generated', agent, credential);
    return { ...credential, clientSecret };
  };

  const findBySecret: CredentialService['findBySecret'] = (queryable, agentId, clientSecret) =>
    findCredentialBySecret(queryable, agentId, hashSecret(clientSecret), isoTime(clock));

  const lock = async (tx: Tx, { agentId, credentialId }: CredentialPath): Promise<Credential> =>
    (await lockCredential(tx, agentId, credentialId)) ?? fail('CREDENTIAL_NOT_FOUND');

  return {
    issue,
    findBySecret,
    isValidSecret: async (agentId, clientSecret) =>
      (await findBySecret(db, agentId, clientSecret)) !== undefined,

    async generate(caller, agentId, wanted) {
      const expiresAt = parseExpiry(wanted.expiresAt, clock.now()) ?? null;
      return db.transaction(async (tx) => {
        const agent = await lockAgent(tx, caller, agentId);
        await refuseImpersonation(tx, caller, agent);
        refuseProof(agent, { in: 'path', field: 'agentId' });
        if (agent.status !== 'active') fail('AGENT_NOT_ACTIVE');
        return issue(tx, caller, agent, { expiresAt, name: wanted.name ?? null });
      });
    },

    async list(caller, agentId, query) {
      const agent = await agentFor(caller, agentId);
      await flushUses();
      const { rows, total } = await listCredentials(db, agent.agentId, query);
      return pageOf(query, rows, total);
    },

    async rotate(caller, path, wanted) {
      const requested = parseExpiry(wanted.expiresAt, clock.now());
      await flushUses();
      return db.transaction(async (tx) => {
        const agent = await lockAgent(tx, caller, path.agentId);
        await refuseImpersonation(tx, caller, agent);
        const credential = await lock(tx, path);
        const event = eventOf(credential.status, 'rotate');
        const expiresAt =
          requested === undefined ? requireUnexpired(credential.expiresAt, clock.now()) : requested;
        const clientSecret = ids.secret(secretPrefix);
        const rotated = { ...credential, expiresAt };
        await replaceSecret(tx, rotated, hashSecret(clientSecret));
        await record(tx, caller, event, agent, rotated);
        return { ...rotated, clientSecret };
      });
    },

    async revoke(caller, path) {
      await db.transaction(async (tx) => {
        const agent = await lockAgent(tx, caller, path.agentId);
        const credential = await lock(tx, path);
        const event = eventOf(credential.status, 'revoke');
        await markRevoked(tx, credential.credentialId, isoTime(clock));
        await record(tx, caller, event, agent, credential);
      });
    },

    revokeAllOf: (tx, agentId) => markAllRevoked(tx, agentId, isoTime(clock)),

    hasActive: hasActiveCredentials,
    secretExpiries: (agentIds) => findExpiries(db, agentIds, isoTime(clock)),
    countExpiringSoon: () => countExpiring(db, new Date(clock.now()), new Date(clock.now() + weekMs)),
  };
}

const expiryProblem = (message: string) =>
  validationError('body', [{ in: 'body', field: 'expiresAt', message }]);

/** Null: no expiry. Undefined: not given. */
function parseExpiry(text: string | null | undefined, now: number): string | null | undefined {
  if (text === undefined || text === null) return text;
  const time = new Date(text);
  if (Number.isNaN(time.getTime()) || time.getUTCFullYear() > 9999) {
    throw expiryProblem('must be a real date before the year 10000');
  }
  if (time.getTime() <= now) throw expiryProblem('must be in the future');
  return time.toISOString();
}

/** A rotation without `expiresAt` keeps the old expiry, unless that has passed: the new secret would be expired at once. */
function requireUnexpired(expiresAt: string | null, now: number): string | null {
  if (expiresAt !== null && Date.parse(expiresAt) <= now) {
    throw expiryProblem('is required: the credential has expired, and its new secret would be of no use');
  }
  return expiresAt;
}
