/** The approvals that are addressed to the person in the session. */
import type { Approval } from './generated.ts';
import { sendJson } from './request.ts';

export type { Approval };

type ApprovalStatus = Approval['status'];
export const approvalStatuses = [
  'pending',
  'approved',
  'denied',
  'expired',
  'canceled',
] as const satisfies readonly ApprovalStatus[];

export type AuthorizationDetails = NonNullable<Approval['authorizationDetails']>;

export interface OwnApproval extends Approval {
  /** The e-mail address of the agent. */
  readonly agentName: string;
  readonly agentOwner: string;
  readonly scopeDescriptions: readonly { readonly name: string; readonly description: string | null }[];
}

interface OwnApprovalPage {
  readonly data: readonly OwnApproval[];
  readonly total: number;
  readonly page: number;
  readonly limit: number;
}

export interface OwnApprovalQuery {
  readonly status?: ApprovalStatus | undefined;
  readonly page: number;
  readonly limit: number;
}

export type Decision =
  | { readonly decision: 'deny' }
  | {
      readonly decision: 'approve';
      /** Absent: all that were asked for. */
      readonly scopes?: readonly string[];
      /** Absent: as long as was asked for and is possible. */
      readonly accessExpiresIn?: number;
      readonly allowRedelegation: boolean;
    };

const path = '/console/api/me/approvals';
const pathOf = (approvalId: string): string => `${path}/${encodeURIComponent(approvalId)}`;

/** Where the server sends changes of them. */
export const approvalEventsPath = `${path}/events`;

export async function fetchOwnApprovals(
  query: OwnApprovalQuery,
  signal: AbortSignal,
): Promise<OwnApprovalPage> {
  const set = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(set.map(([name, value]) => [name, String(value)]));
  return (await sendJson('GET', `${path}?${text}`, undefined, { signal })) as OwnApprovalPage;
}

export const fetchOwnApproval = async (approvalId: string, signal: AbortSignal): Promise<OwnApproval> =>
  (await sendJson('GET', pathOf(approvalId), undefined, { signal })) as OwnApproval;

export const decideApproval = async (approvalId: string, decision: Decision): Promise<OwnApproval> =>
  (await sendJson('POST', pathOf(approvalId), decision)) as OwnApproval;
