/** Approvals for those who read about them, and for the agent that asked. */

import { type Actor, type Caller, isOperator, tenantOf } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import { approvalOf, eventSubject, requirePending } from './approval.ts';
import type { ApprovalDeps } from './feature.ts';
import type { Approval, ApprovalQuery } from './schema.ts';
import { findApproval, listApprovals, lockApproval, type StoredApproval, updateOutcome } from './store.ts';

export interface ApprovalService {
  list(caller: Caller, query: ApprovalQuery): Promise<Page<Approval>>;
  /** APPROVAL_NOT_FOUND unless the caller asked, or may read the organization's audit log. */
  get(caller: Caller, approvalId: string): Promise<Approval>;
  /** By the agent that asked, or an administrator. APPROVAL_NOT_PENDING once it is decided. */
  cancel(caller: Caller, approvalId: string): Promise<void>;
}

export type CancelApproval = (
  tx: Tx,
  actor: Actor,
  approval: StoredApproval,
  reason: string,
) => Promise<void>;

/** The reason of a cancellation that the agent need not be told of. */
const byAgent = 'by the agent';

export const createCancel =
  ({
    clock,
    ledger,
    notifications,
  }: Pick<ApprovalDeps, 'clock' | 'ledger' | 'notifications'>): CancelApproval =>
  async (tx, actor, approval, reason) => {
    const outcome = { status: 'canceled', decidedBy: null, decidedAt: isoTime(clock) } as const;
    await updateOutcome(tx, approval.approvalId, outcome);
    await ledger.record(
      tx,
      actor,
      'approval.canceled',
      eventSubject(approval, { status: 'canceled', reason }),
    );
    if (reason !== byAgent) await notifications.decided(tx, approval);
  };

export function createApprovalService(deps: ApprovalDeps): ApprovalService {
  const { db, clock, isAdmin } = deps;
  const cancel = createCancel(deps);
  const now = () => new Date(clock.now());

  const isOfTenant = (caller: Caller, { organizationId }: StoredApproval) =>
    organizationId === (tenantOf(caller) ?? organizationId);

  const mayRead = (caller: Caller, approval: StoredApproval): boolean =>
    approval.agentId === caller.agentId || (caller.scopes.has('audit:read') && isOfTenant(caller, approval));

  const mayCancel = async (caller: Caller, approval: StoredApproval): Promise<boolean> =>
    approval.agentId === caller.agentId ||
    isOperator(caller) ||
    (isOfTenant(caller, approval) && (await isAdmin(caller)));

  return {
    async list(caller, query) {
      const filter = { ...query, organizationId: tenantOf(caller) };
      const { rows, total } = await listApprovals(db, filter, query, now());
      return pageOf(query, rows.map(approvalOf), total);
    },

    async get(caller, approvalId) {
      const approval = await findApproval(db, approvalId, now());
      return approval && mayRead(caller, approval) ? approvalOf(approval) : fail('APPROVAL_NOT_FOUND');
    },

    async cancel(caller, approvalId) {
      await db.transaction(async (tx) => {
        const approval = await lockApproval(tx, approvalId, now());
        if (!approval || !(await mayCancel(caller, approval))) return fail('APPROVAL_NOT_FOUND');
        requirePending(approval);
        await cancel(
          tx,
          caller,
          approval,
          approval.agentId === caller.agentId ? byAgent : 'by an administrator',
        );
      });
    },
  };
}
