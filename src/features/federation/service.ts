import type { EventType } from '../../contract/events.ts';
import type { FederationEvent } from '../../contract/external-tokens.ts';
import type { Caller } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { type FieldProblem, validationError } from '../../kernel/http/input/validation.ts';
import {
  audiencesOf,
  type ExternalTokenRefusal,
  isRefused,
  urlProblem,
  type VerifiedToken,
} from '../../kernel/ports/external-tokens.ts';
import type { FederationDeps } from './deps.ts';
import type { NewPartner, Partner, PartnerChange, PartnerToken, Verification } from './schema.ts';
import {
  deletePartner,
  findPartner,
  findPartnerByIssuer,
  insertPartner,
  listPartners,
  lockPartners,
  updatePartner,
} from './store.ts';

export interface FederationService {
  trust(caller: Caller, wanted: NewPartner): Promise<Partner>;
  list(): Promise<Partner[]>;
  get(id: string): Promise<Partner>;
  update(caller: Caller, id: string, change: PartnerChange): Promise<Partner>;
  remove(caller: Caller, id: string): Promise<void>;
  verify(asked: PartnerToken): Promise<Verification>;
}

export function createFederationService(deps: FederationDeps): FederationService {
  const { db, clock, ids, ledger, metrics, externalTokens, issuer: ourselves, allowHttp } = deps;

  const count = (event_type: FederationEvent) =>
    metrics.count('service_federation_events_total', { event_type });

  /** Partners belong to nobody's organization: what happens to them is in the log of whoever did it. */
  const record = async (
    tx: Tx,
    caller: Caller,
    type: EventType,
    { id: partnerId, name, issuer, jwksUri }: Partner,
    more: object = {},
  ) => {
    const { organizationId, agentId } = caller;
    const metadata = { partnerId, name, issuer, jwksUri, ...more };
    await ledger.record(tx, caller, type, { organizationId, agentId, metadata });
  };

  const refuseBadAddresses = ({ issuer, jwksUri }: PartnerChange) => {
    const problems: FieldProblem[] = [];
    const complain = (field: string, message: string | undefined) =>
      message !== undefined && problems.push({ in: 'body', field, message });
    if (issuer !== undefined) {
      complain('issuer', urlProblem(issuer, { allowHttp, allowQuery: false }) ?? ownAddress(issuer));
    }
    if (jwksUri !== undefined) complain('jwksUri', urlProblem(jwksUri, { allowHttp, allowQuery: true }));
    if (problems.length > 0) throw validationError('body', problems);
  };

  const ownAddress = (issuer: string) =>
    new URL(issuer).href === new URL(ourselves).href
      ? 'is this instance itself, which is no partner of its own'
      : undefined;

  const held = async (tx: Tx, id: string): Promise<Partner> => {
    await lockPartners(tx);
    return (await findPartner(tx, id)) ?? fail('PARTNER_NOT_FOUND');
  };

  /** Looked up each time: a partner that was removed is nobody from then on, on every node. */
  const judge = async ({ token, audience }: PartnerToken): Promise<VerifiedToken | ExternalTokenRefusal> => {
    const unverified = externalTokens.read(token);
    if (isRefused(unverified)) return unverified;
    if (unverified.issuer === ourselves) return { reason: 'own_token' };
    const partner = await findPartnerByIssuer(db, unverified.issuer);
    if (!partner) return { reason: 'unknown_issuer' };
    const verified = await externalTokens.verify(unverified, partner);
    if (isRefused(verified) || audience === undefined) return verified;
    return audiencesOf(verified.claims).includes(audience) ? verified : { reason: 'audience_mismatch' };
  };

  return {
    async trust(caller, wanted) {
      refuseBadAddresses(wanted);
      return db.transaction(async (tx) => {
        const now = isoTime(clock);
        const partner: Partner = { id: ids.uuid(), ...wanted, createdAt: now, updatedAt: now };
        if (!(await insertPartner(tx, partner)))
          fail('PARTNER_ALREADY_EXISTS', { details: { field: 'issuer' } });
        await record(tx, caller, 'partner.added', partner);
        tx.afterCommit(() => count('partner_added'));
        return partner;
      });
    },

    list: () => listPartners(db),

    get: async (id) => (await findPartner(db, id)) ?? fail('PARTNER_NOT_FOUND'),

    async update(caller, id, change) {
      refuseBadAddresses(change);
      return db.transaction(async (tx) => {
        const before = await held(tx, id);
        const after: Partner = { ...before, ...change, updatedAt: isoTime(clock) };
        const changed = (Object.keys(change) as (keyof PartnerChange)[]).filter(
          (field) => before[field] !== after[field],
        );
        if (changed.length === 0) return before;
        const rival = await findPartnerByIssuer(tx, after.issuer);
        if (rival && rival.id !== after.id) fail('PARTNER_ALREADY_EXISTS', { details: { field: 'issuer' } });
        await updatePartner(tx, after);
        await record(tx, caller, 'partner.updated', after, { changed });
        tx.afterCommit(() => count('partner_changed'));
        return after;
      });
    },

    async remove(caller, id) {
      await db.transaction(async (tx) => {
        const partner = await held(tx, id);
        await deletePartner(tx, partner.id);
        await record(tx, caller, 'partner.removed', partner);
        tx.afterCommit(() => count('partner_removed'));
      });
    },

    async verify(asked) {
      const result = await judge(asked);
      count(isRefused(result) ? 'token_refused' : 'token_verified');
      return isRefused(result)
        ? { valid: false, reason: result.reason }
        : { valid: true, claims: result.claims };
    },
  };
}
