/** Decisions of people. Only a person in a session of the console decides: no token of an agent reaches these functions. */

import type { Caller } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { ApiError, fail } from '../../kernel/fail.ts';
import { describeProblem } from '../../kernel/http/input/authorization-details.ts';
import { type FieldProblem, validationError } from '../../kernel/http/input/validation.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import { addressedApprovalOf, eventSubject, requirePending } from './approval.ts';
import { findApprovalPolicy } from './approval-policy-slice.ts';
import { findAddressed, findDeciders, isOwnAgent, isSamePerson, listAddressed } from './deciders-store.ts';
import type { ApprovalDeps } from './feature.ts';
import type { AddressedApproval, ApprovalDecision, OwnApprovalQuery } from './schema.ts';
import { lockApproval, type StoredApproval, type Support, updateOutcome, updateSupport } from './store.ts';

const mayNotLend = 'You may not lend these scopes of this API.';

export interface Decisions {
  list(caller: Caller, query: OwnApprovalQuery): Promise<Page<AddressedApproval>>;
  /** APPROVAL_NOT_FOUND unless it is addressed to the person. */
  get(caller: Caller, approvalId: string): Promise<AddressedApproval>;
  decide(caller: Caller, approvalId: string, decision: ApprovalDecision): Promise<AddressedApproval>;
}

export function createDecisions(deps: ApprovalDeps): Decisions {
  const { db, clock, ledger, issuer, consents, lockAgents, notifications } = deps;
  const { findLendingTarget, detailsProblem } = deps;
  const now = () => new Date(clock.now());

  const personIn = ({ person }: Caller): string =>
    person?.personId ?? fail('FORBIDDEN', { message: 'Only a person can decide: sign in as a person.' });

  const findOwn = async (tx: Queryable, personId: string, approvalId: string) =>
    (await findAddressed(tx, personId, approvalId, now())) ?? fail('APPROVAL_NOT_FOUND');

  /** The agent is locked first, in the order of every transaction that locks both. Of two decisions the second waits here. */
  const lock = async (tx: Tx, personId: string, approvalId: string): Promise<StoredApproval> => {
    const { agentId } = await findOwn(tx, personId, approvalId);
    await lockAgents(tx, [agentId]);
    const approval = (await lockApproval(tx, approvalId, now())) ?? fail('APPROVAL_NOT_FOUND');
    requirePending(approval);
    // The approvers may have changed while this waited, or since the person approved.
    if (!(await findDeciders(tx, approvalId, [personId])).has(personId)) fail('APPROVAL_NOT_FOUND');
    return approval;
  };

  const deny = async (tx: Tx, caller: Caller, personId: string, approval: StoredApproval) => {
    const { approvalId } = approval;
    await updateOutcome(tx, approvalId, { status: 'denied', decidedBy: personId, decidedAt: isoTime(clock) });
    await ledger.record(
      tx,
      caller,
      'approval.denied',
      eventSubject(approval, { status: 'denied', decidedBy: personId }),
    );
    await notifications.decided(tx, approval);
  };

  /** The scopes and time that the person approves: VALIDATION_ERROR when they are wider than requested. */
  const supportOf = async (
    tx: Tx,
    personId: string,
    approval: StoredApproval,
    { scopes, accessExpiresIn, allowRedelegation }: ApprovalDecision,
  ): Promise<Support> => {
    const { maxAccessSeconds } = await findApprovalPolicy(tx, approval.organizationId);
    const longest = Math.min(approval.accessExpiresIn, maxAccessSeconds);
    const problems: FieldProblem[] = [];
    const wider = scopes?.filter((scope) => !approval.scopes.includes(scope)) ?? [];
    if (wider.length > 0)
      problems.push({
        in: 'body',
        field: 'scopes',
        message: `may only name requested scopes; the request has no ${wider.join(' ')}`,
      });
    if ((accessExpiresIn ?? 0) > longest)
      problems.push({ in: 'body', field: 'accessExpiresIn', message: `must be at most ${longest}` });
    if (problems.length > 0) throw validationError('body', problems);
    return {
      personId,
      at: isoTime(clock),
      scopes: scopes ?? approval.scopes,
      accessExpiresIn: accessExpiresIn ?? longest,
      allowRedelegation: allowRedelegation ?? false,
    };
  };

  const mayLend = async (tx: Tx, { personId, scopes }: Support, { audience }: StoredApproval) => {
    const lendable = await consents.lendable(tx, personId, audience);
    return lendable.length > 0 && scopes.every((scope) => lendable.includes(scope));
  };

  const isSelfApproval = async (
    tx: Tx,
    { personId }: Support,
    { organizationId, agentId }: StoredApproval,
  ): Promise<boolean> => {
    const { selfApproval } = await findApprovalPolicy(tx, organizationId);
    return !selfApproval && (await isOwnAgent(tx, personId, agentId));
  };

  /** The API may have been deleted and registered anew, or have other types of details, since the agent asked. */
  const requireSameTarget = async (tx: Tx, approval: StoredApproval) => {
    const { audience, organizationId, resourceId, authorizationDetails } = approval;
    if (resourceId === null) return;
    const target = await findLendingTarget(tx, audience, organizationId);
    if (target?.resourceId !== resourceId)
      return fail('FORBIDDEN', { message: 'The API of this request is gone: the agent must ask again.' });
    const problem = detailsProblem(authorizationDetails ?? [], target.authorizationDetailTypes);
    if (problem)
      fail('FORBIDDEN', {
        message: `The API does not know these details any more: ${describeProblem(problem)}. You can only deny it.`,
      });
  };

  const requireEligible = async (tx: Tx, own: Support, approval: StoredApproval) => {
    if (await isSelfApproval(tx, own, approval))
      fail('FORBIDDEN', {
        message:
          'You registered this agent or own it: your organization wants another person to approve its requests.',
      });
    if (!(await mayLend(tx, own, approval))) fail('FORBIDDEN', { message: mayNotLend });
  };

  /** Of the people who approved before: those who still may, and are another person. */
  const stillValid = async (tx: Tx, personId: string, approval: StoredApproval): Promise<Support[]> => {
    const { approvalId, support } = approval;
    const deciders = await findDeciders(
      tx,
      approvalId,
      support.map((earlier) => earlier.personId),
    );
    const valid: Support[] = [];
    for (const earlier of support)
      if (
        deciders.has(earlier.personId) &&
        !(await isSamePerson(tx, personId, earlier.personId)) &&
        !(await isSelfApproval(tx, earlier, approval)) &&
        (await mayLend(tx, earlier, approval))
      )
        valid.push(earlier);
    return valid;
  };

  const approve = async (tx: Tx, caller: Caller, approval: StoredApproval, own: Support) => {
    const { approvalId, requiresTwo, support: earlier } = approval;
    if (requiresTwo && earlier.some(({ personId }) => personId === own.personId))
      fail('APPROVAL_NOT_PENDING', {
        message: 'You have approved this already: it waits for a second person.',
      });
    await requireEligible(tx, own, approval);
    await requireSameTarget(tx, approval);
    const support = [...(requiresTwo ? await stillValid(tx, own.personId, approval) : []), own];
    if (requiresTwo && support.length < 2) {
      await updateSupport(tx, approvalId, support);
      const facts = { status: 'pending', decidedBy: own.personId };
      return ledger.record(tx, caller, 'approval.supported', eventSubject(approval, facts));
    }
    return grant(tx, caller, approval, support);
  };

  /** The narrowest of what all of them approved, as a delegation of the last. */
  const grant = async (tx: Tx, caller: Caller, approval: StoredApproval, support: readonly Support[]) => {
    const { approvalId, agentId, audience, authorizationDetails } = approval;
    const { personId } = support.at(-1) as Support;
    const scopes = approval.scopes.filter((scope) => support.every((one) => one.scopes.includes(scope)));
    if (scopes.length === 0 && approval.scopes.length > 0)
      throw validationError('body', [
        { in: 'body', field: 'scopes', message: 'has none of the scopes that the other person approved' },
      ]);
    const accessExpiresIn = Math.min(...support.map((one) => one.accessExpiresIn));
    const { chainId } = await consents
      .grant(tx, caller, {
        personId,
        agentId,
        audience,
        scopes,
        expiresIn: accessExpiresIn,
        allowRedelegation: support.every((one) => one.allowRedelegation),
        origin: 'approval',
        authorizationDetails,
      })
      .catch(refuseLending);
    const decidedAt = isoTime(clock);
    const granted = { chainId, scopes, accessExpiresIn, support };
    await updateOutcome(tx, approvalId, { status: 'approved', decidedBy: personId, decidedAt, granted });
    await ledger.record(
      tx,
      caller,
      'approval.approved',
      eventSubject(
        { ...approval, scopes, accessExpiresIn },
        { status: 'approved', decidedBy: personId, chainId },
      ),
    );
    await notifications.decided(tx, approval);
  };

  return {
    async list(caller, query) {
      const { rows, total } = await listAddressed(db, personIn(caller), query, now());
      return pageOf(
        query,
        rows.map((row) => addressedApprovalOf(row, issuer)),
        total,
      );
    },

    async get(caller, approvalId) {
      return addressedApprovalOf(await findOwn(db, personIn(caller), approvalId), issuer);
    },

    async decide(caller, approvalId, decision) {
      const personId = personIn(caller);
      await db.transaction(async (tx) => {
        const approval = await lock(tx, personId, approvalId);
        if (decision.decision === 'deny') await deny(tx, caller, personId, approval);
        else await approve(tx, caller, approval, await supportOf(tx, personId, approval, decision));
      });
      return addressedApprovalOf(await findOwn(db, personId, approvalId), issuer);
    },
  };
}

const refuseLending = (error: unknown): never => {
  if (error instanceof ApiError && error.code === 'DELEGATION_SCOPE_EXCEEDED')
    fail('FORBIDDEN', { message: mayNotLend });
  throw error;
};
