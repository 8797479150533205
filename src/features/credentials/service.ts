import type { EventType } from '../../contract/events.ts';
import type { Actor, Caller } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import { hashSecret, secretPrefix } from '../../kernel/secrets.ts';
import type { CredentialAgent, CredentialDeps } from './deps.ts';
import type { Credential, CredentialQuery, CredentialWithSecret, NewCredential } from './schema.ts';
import {
  countExpiring,
  hasSecret,
  insertCredential,
  listCredentials,
  lockCredential,
  markAllRevoked,
  markRevoked,
  replaceSecret,
} from './store.ts';
import { eventOf } from './transitions.ts';

export interface CredentialPath {
  readonly agentId: string;
  readonly credentialId: string;
}

export interface CredentialService {
  generate(caller: Caller, agentId: string, wanted: NewCredential): Promise<CredentialWithSecret>;
  list(caller: Caller, agentId: string, query: CredentialQuery): Promise<Page<Credential>>;
  rotate(caller: Caller, path: CredentialPath, wanted: NewCredential): Promise<CredentialWithSecret>;
  revoke(caller: Caller, path: CredentialPath): Promise<void>;
  /** The change itself, for callers that have settled who may: `generate`, and bootstrap. */
  issue(
    tx: Tx,
    actor: Actor,
    owner: CredentialAgent,
    expiresAt: string | null,
  ): Promise<CredentialWithSecret>;
  /** Whether it is a secret by which the agent can prove itself now: for a console that has kept one. */
  isValidSecret(agentId: string, clientSecret: string): Promise<boolean>;
  /** With the agent's end; told by the event of that. */
  revokeAllOf(tx: Tx, agentId: string): Promise<void>;
  /** Active credentials that expire within a week. */
  countExpiringSoon(): Promise<number>;
}

const weekMs = 7 * 86_400_000;

export function createCredentialService(deps: CredentialDeps): CredentialService {
  const { db, clock, ids, ledger, agentFor, lockAgent, refuseImpersonation } = deps;

  const record = (
    tx: Tx,
    actor: Actor,
    event: EventType,
    { organizationId, agentId, allowedScopes: scopes }: CredentialAgent,
    { credentialId, expiresAt }: Credential,
  ) =>
    ledger.record(tx, actor, event, {
      organizationId,
      agentId,
      metadata: { credentialId, credentialType: 'client_secret', scopes, expiresAt },
    });

  const issue: CredentialService['issue'] = async (tx, actor, owner, expiresAt) => {
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
    await record(tx, actor, 'credential.generated', owner, credential);
    return { ...credential, clientSecret };
  };

  const lock = async (tx: Tx, { agentId, credentialId }: CredentialPath): Promise<Credential> =>
    (await lockCredential(tx, agentId, credentialId)) ?? fail('CREDENTIAL_NOT_FOUND');

  return {
    issue: issue,
    isValidSecret: (agentId, clientSecret) =>
      hasSecret(db, agentId, hashSecret(clientSecret), isoTime(clock)),

    async generate(caller, agentId, wanted) {
      const expiresAt = parseExpiry(wanted.expiresAt, clock.now()) ?? null;
      return db.transaction(async (tx) => {
        const owner = await lockAgent(tx, caller, agentId);
        await refuseImpersonation(tx, caller, owner);
        if (owner.status !== 'active') fail('AGENT_NOT_ACTIVE');
        return issue(tx, caller, owner, expiresAt);
      });
    },

    async list(caller, agentId, query) {
      const { agentId: owner } = await agentFor(caller, agentId);
      const { rows, total } = await listCredentials(db, owner, query);
      return pageOf(query, rows, total);
    },

    async rotate(caller, path, wanted) {
      const asked = parseExpiry(wanted.expiresAt, clock.now());
      return db.transaction(async (tx) => {
        const owner = await lockAgent(tx, caller, path.agentId);
        await refuseImpersonation(tx, caller, owner);
        const credential = await lock(tx, path);
        const event = eventOf(credential.status, 'rotate');
        const expiresAt = asked === undefined ? requireUnexpired(credential.expiresAt, clock.now()) : asked;
        const clientSecret = ids.secret(secretPrefix);
        const rotated = { ...credential, expiresAt };
        await replaceSecret(tx, rotated, hashSecret(clientSecret));
        await record(tx, caller, event, owner, rotated);
        return { ...rotated, clientSecret };
      });
    },

    async revoke(caller, path) {
      await db.transaction(async (tx) => {
        const owner = await lockAgent(tx, caller, path.agentId);
        const credential = await lock(tx, path);
        const event = eventOf(credential.status, 'revoke');
        await markRevoked(tx, credential.credentialId, isoTime(clock));
        await record(tx, caller, event, owner, credential);
      });
    },

    revokeAllOf: (tx, agentId) => markAllRevoked(tx, agentId, isoTime(clock)),

    countExpiringSoon: () => countExpiring(db, new Date(clock.now()), new Date(clock.now() + weekMs)),
  };
}

const expiryProblem = (message: string) =>
  validationError('body', [{ in: 'body', field: 'expiresAt', message }]);

/** Null means: no expiry. */
function parseExpiry(asked: string | null | undefined, now: number): string | null | undefined {
  if (asked === undefined || asked === null) return asked;
  const time = new Date(asked);
  if (Number.isNaN(time.getTime()) || time.getUTCFullYear() > 9999) {
    throw expiryProblem('must be a real date before the year 10000');
  }
  if (time.getTime() <= now) throw expiryProblem('must be in the future');
  return time.toISOString();
}

/** A rotation keeps the expiry, unless told another; a secret that is born expired would help nobody. */
function requireUnexpired(expiresAt: string | null, now: number): string | null {
  if (expiresAt !== null && Date.parse(expiresAt) <= now) {
    throw expiryProblem('is required: the credential has expired, and its new secret would be of no use');
  }
  return expiresAt;
}
