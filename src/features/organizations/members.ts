/**
 * The members of an organization. Every change locks the organization first, so the changes of one organization are serialized. Roles
 * are read from the table at every decision: a change takes effect on the next request of every node.
 */

import { type Caller, isOperator } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import type { OrganizationDeps } from './feature.ts';
import {
  deleteMembership,
  findMembership,
  hasOtherAdmin,
  insertMembership,
  listMemberships,
  updateRole,
} from './members-store.ts';
import type { MemberChange, MemberParams, MemberQuery, Membership, NewMember } from './schema.ts';
import type { OrganizationService } from './service.ts';

export interface MemberService {
  listMembers(caller: Caller, orgId: string, query: MemberQuery): Promise<Page<Membership>>;
  addMember(caller: Caller, orgId: string, wanted: NewMember): Promise<Membership>;
  updateMember(caller: Caller, member: MemberParams, change: MemberChange): Promise<Membership>;
  removeMember(caller: Caller, member: MemberParams): Promise<void>;
}

type MemberDeps = Pick<OrganizationDeps, 'db' | 'clock' | 'ids' | 'ledger' | 'agentFor' | 'refuseOwnAgent'> &
  Pick<OrganizationService, 'get'> & {
    lockUndeleted(tx: Tx, orgId: string): Promise<{ organizationId: string }>;
  };

/** Suspending and decommissioning do not ask: a kill switch always works. */
export const refuseLastAdmin: OrganizationService['refuseLastAdmin'] = async (
  tx,
  caller,
  organizationId,
  admin,
) => {
  if (isOperator(caller) || (await hasOtherAdmin(tx, organizationId, admin))) return;
  fail('LAST_ADMIN');
};

export function createMemberService(deps: MemberDeps): MemberService {
  const { db, clock, ids, ledger, agentFor, refuseOwnAgent, get, lockUndeleted } = deps;

  const lockMembership = async (tx: Tx, orgId: string, agentId: string): Promise<Membership> => {
    const { organizationId } = await lockUndeleted(tx, orgId);
    return (await findMembership(tx, organizationId, agentId)) ?? fail('MEMBER_NOT_FOUND');
  };

  return {
    async listMembers(caller, orgId, query) {
      const { organizationId } = await get(caller, orgId);
      const { rows, total } = await listMemberships(db, organizationId, query);
      return pageOf(query, rows, total);
    },

    async addMember(caller, orgId, { agentId, role }) {
      const agent = await agentFor(caller, agentId);
      await refuseOwnAgent(db, caller, agent.agentId);
      return db.transaction(async (tx) => {
        const { organizationId } = await lockUndeleted(tx, orgId);
        const membership: Membership = {
          memberId: ids.uuid(),
          organizationId,
          agentId: agent.agentId,
          role,
          joinedAt: isoTime(clock),
        };
        if (!(await insertMembership(tx, membership))) fail('MEMBER_ALREADY_EXISTS');
        await ledger.record(tx, caller, 'member.added', {
          organizationId,
          agentId: agent.agentId,
          metadata: { memberId: membership.memberId, role },
        });
        return membership;
      });
    },

    updateMember: (caller, { orgId, agentId }, { role }) =>
      db.transaction(async (tx) => {
        const before = await lockMembership(tx, orgId, agentId);
        await refuseOwnAgent(tx, caller, before.agentId);
        if (role === undefined || before.role === role) return before;
        if (before.role === 'admin') await refuseLastAdmin(tx, caller, before.organizationId, before);
        const after: Membership = { ...before, role };
        await updateRole(tx, after);
        await ledger.record(tx, caller, 'member.updated', {
          organizationId: after.organizationId,
          agentId: after.agentId,
          metadata: { memberId: after.memberId, role, previousRole: before.role },
        });
        return after;
      }),

    removeMember: (caller, { orgId, agentId }) =>
      db.transaction(async (tx) => {
        const membership = await lockMembership(tx, orgId, agentId);
        const { organizationId, memberId, role } = membership;
        if (role === 'admin') await refuseLastAdmin(tx, caller, organizationId, membership);
        await deleteMembership(tx, membership);
        await ledger.record(tx, caller, 'member.removed', {
          organizationId,
          agentId: membership.agentId,
          metadata: { memberId, role },
        });
      }),
  };
}
