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
  type VerifiedToken,
} from '../../kernel/ports/external-tokens.ts';
import { urlProblem } from '../../kernel/url-problem.ts';
import type { FederationDeps } from './feature.ts';
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
  verify(request: PartnerToken): Promise<Verification>;
}

export function createFederationService(deps: FederationDeps): FederationService {
  const { db, clock, ids, ledger, metrics, externalTokens, issuer: ownIssuer, allowHttp } = deps;

  const count = (event_type: FederationEvent) =>
    metrics.count('service_federation_events_total', { event_type });

  /** Partners belong to no organization: their events go to the log of the caller's organization. */
  const record = async (
    tx: Tx,
    caller: Caller,
    type: EventType,
    { id: partnerId, name, issuer, jwksUri, idJag }: Partner,
    more: object = {},
  ) => {
    const { organizationId, agentId } = caller;
    const metadata = { partnerId, name, issuer, jwksUri, idJag, ...more };
    await ledger.record(tx, caller, type, { organizationId, agentId, metadata });
  };

  const validateAddresses = ({ issuer, jwksUri }: PartnerChange) => {
    const problems: FieldProblem[] = [];
    const addProblem = (field: string, message: string | undefined) =>
      message !== undefined && problems.push({ in: 'body', field, message });
    if (issuer !== undefined) {
      addProblem('issuer', urlProblem(issuer, { allowHttp, allowQuery: false }) ?? ownIssuerProblem(issuer));
    }
    if (jwksUri !== undefined) addProblem('jwksUri', urlProblem(jwksUri, { allowHttp, allowQuery: true }));
    if (problems.length > 0) throw validationError('body', problems);
  };

  const ownIssuerProblem = (issuer: string) =>
    new URL(issuer).href === new URL(ownIssuer).href
      ? 'is this instance itself, which is no partner of its own'
      : undefined;

  const lockPartner = async (tx: Tx, id: string): Promise<Partner> => {
    await lockPartners(tx);
    return (await findPartner(tx, id)) ?? fail('PARTNER_NOT_FOUND');
  };

  /** The partner is read for every token: a removal takes effect at once, on every node. */
  const verifyToken = async ({
    token,
    audience,
  }: PartnerToken): Promise<VerifiedToken | ExternalTokenRefusal> => {
    const unverified = externalTokens.read(token);
    if (isRefused(unverified)) return unverified;
    if (unverified.issuer === ownIssuer) return { reason: 'own_token' };
    const partner = await findPartnerByIssuer(db, unverified.issuer);
    if (!partner) return { reason: 'unknown_issuer' };
    const verified = await externalTokens.verify(unverified, partner);
    if (isRefused(verified) || audience === undefined) return verified;
    return audiencesOf(verified.claims).includes(audience) ? verified : { reason: 'audience_mismatch' };
  };

  return {
    async trust(caller, wanted) {
      validateAddresses(wanted);
      return db.transaction(async (tx) => {
        const now = isoTime(clock);
        const partner: Partner = { id: ids.uuid(), idJag: false, ...wanted, createdAt: now, updatedAt: now };
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
      validateAddresses(change);
      return db.transaction(async (tx) => {
        const before = await lockPartner(tx, id);
        const after: Partner = { ...before, ...change, updatedAt: isoTime(clock) };
        const changed = (Object.keys(change) as (keyof PartnerChange)[]).filter(
          (field) => before[field] !== after[field],
        );
        if (changed.length === 0) return before;
        const sameIssuer = await findPartnerByIssuer(tx, after.issuer);
        if (sameIssuer && sameIssuer.id !== after.id)
          fail('PARTNER_ALREADY_EXISTS', { details: { field: 'issuer' } });
        await updatePartner(tx, after);
        await record(tx, caller, 'partner.updated', after, { changed });
        tx.afterCommit(() => count('partner_changed'));
        return after;
      });
    },

    async remove(caller, id) {
      await db.transaction(async (tx) => {
        const partner = await lockPartner(tx, id);
        await deletePartner(tx, partner.id);
        await record(tx, caller, 'partner.removed', partner);
        tx.afterCommit(() => count('partner_removed'));
      });
    },

    async verify(request) {
      const result = await verifyToken(request);
      count(isRefused(result) ? 'token_refused' : 'token_verified');
      return isRefused(result)
        ? { valid: false, reason: result.reason }
        : { valid: true, claims: result.claims };
    },
  };
}
