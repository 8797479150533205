/** Hooks over the approvals that are addressed to the person in the session. */
import {
  keepPreviousData,
  type QueryClient,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { toApiError } from './api-error.ts';
import type { ApprovalChange } from './approval-stream.ts';
import {
  type Decision,
  decideApproval,
  fetchOwnApproval,
  fetchOwnApprovals,
  type OwnApprovalQuery,
} from './approvals.ts';
import { refreshPaths } from './queries.ts';

const key = 'ownApprovals';

export const useOwnApprovals = (query: OwnApprovalQuery) =>
  useQuery({
    queryKey: [key, 'list', query],
    queryFn: ({ signal }) => fetchOwnApprovals(query, signal),
    placeholderData: keepPreviousData,
  });

/** How many wait for the person; undefined while it loads, and in a session without a person. */
export const useWaitingCount = (isPerson: boolean): number | undefined =>
  useQuery({
    queryKey: [key, 'waiting'],
    queryFn: async ({ signal }) =>
      (await fetchOwnApprovals({ status: 'pending', page: 1, limit: 1 }, signal)).total,
    enabled: isPerson,
  }).data;

const lapsedInterval = 5_000;

export const useOwnApproval = (approvalId: string, { enabled }: { readonly enabled: boolean }) =>
  useQuery({
    queryKey: [key, 'one', approvalId],
    queryFn: ({ signal }) => fetchOwnApproval(approvalId, signal),
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
    mutationFn: (decision: Decision) => decideApproval(approvalId, decision),
    onSettled: (_, error) => {
      if (error === null || toApiError(error).status === 409) return refreshApprovals(client);
    },
  });
}

/** Changes the number without a request, until the person is back and it loads again. */
export const countChange = (client: QueryClient, { status }: ApprovalChange): void =>
  void client.setQueryData<number>([key, 'waiting'], (count) =>
    count === undefined ? undefined : Math.max(0, count + (status === 'pending' ? 1 : -1)),
  );

/** Loads again what is shown of approvals. */
export function refreshApprovals(client: QueryClient): Promise<void> {
  refreshPaths(client, ['/approvals']);
  return client.invalidateQueries({ queryKey: [key] });
}
