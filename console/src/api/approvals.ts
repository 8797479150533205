/** The approvals that are addressed to the person in the session. */
import {
  keepPreviousData,
  type QueryClient,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { toApiError } from './api-error.ts';
import type { Approval } from './generated.ts';
import { refreshPaths } from './queries.ts';
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

interface OwnApprovalQuery {
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
const key = 'ownApprovals';

/** Where the server sends changes of them. */
export const approvalEventsPath = `${path}/events`;

async function fetchPage(query: OwnApprovalQuery, signal: AbortSignal): Promise<OwnApprovalPage> {
  const set = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(set.map(([name, value]) => [name, String(value)]));
  return (await sendJson('GET', `${path}?${text}`, undefined, { signal })) as OwnApprovalPage;
}

export const useOwnApprovals = (query: OwnApprovalQuery) =>
  useQuery({
    queryKey: [key, 'list', query],
    queryFn: ({ signal }) => fetchPage(query, signal),
    placeholderData: keepPreviousData,
  });

interface WaitingOptions {
  /** False: the session is not that of a person. */
  readonly enabled: boolean;
  /** Milliseconds; undefined while the server tells of changes by itself. */
  readonly refetchInterval: number | undefined;
}

/** How many wait for the person; undefined while it loads. */
export const useWaitingCount = ({ enabled, refetchInterval }: WaitingOptions): number | undefined =>
  useQuery({
    queryKey: [key, 'waiting'],
    queryFn: async ({ signal }) => (await fetchPage({ status: 'pending', page: 1, limit: 1 }, signal)).total,
    enabled,
    refetchInterval: refetchInterval ?? false,
  }).data;

const lapsedInterval = 5_000;

export const useOwnApproval = (approvalId: string, { enabled }: { readonly enabled: boolean }) =>
  useQuery({
    queryKey: [key, 'one', approvalId],
    queryFn: async ({ signal }) =>
      (await sendJson('GET', `${path}/${encodeURIComponent(approvalId)}`, undefined, {
        signal,
      })) as OwnApproval,
    enabled,
    // The server marks a lapsed one within a minute.
    refetchInterval: ({ state: { data } }) =>
      data?.status === 'pending'
        ? Math.max(lapsedInterval, Math.min(Date.parse(data.expiresAt) - Date.now() + 1_000, 86_400_000))
        : false,
  });

/** Decides one. After a success, and when another person was faster, everything on display about approvals loads again. */
export function useDecision(approvalId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (decision: Decision) =>
      (await sendJson('POST', `${path}/${encodeURIComponent(approvalId)}`, decision)) as Approval,
    onSettled: (_, error) => {
      if (error === null || toApiError(error).status === 409) return refreshApprovals(client);
    },
  });
}

/** Loads again what is shown of approvals. */
export function refreshApprovals(client: QueryClient): Promise<void> {
  refreshPaths(client, ['/approvals']);
  return client.invalidateQueries({ queryKey: [key] });
}
