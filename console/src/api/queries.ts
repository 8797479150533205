/** Hooks over the generated operations: `useApi` reads, `useAction` changes. */
import {
  keepPreviousData,
  QueryClient,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { ApiError } from './api-error.ts';
import { type OperationId, operations } from './generated.ts';
import { call, type Input, type Output, reportRequestEvent } from './request.ts';
import { isTransient, isUnavailable, retryDelay } from './retry.ts';
import { isWaiting, resumeAfterOutage } from './waiting-queries.ts';

const staleTime = 30_000;
const shortestInterval = 5_000;

/** Of the request itself: it is not repeated. Not 429, which is over after a while. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;

export function createQueryClient(): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime,
        // A refusal stays a refusal. An outage is transient: pages keep their data, and the notice of the connection tells why they wait.
        retry: (_, error) => isTransient(error),
        retryDelay: waitFor,
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  });
  resumeAfterOutage(client);
  return client;
}

function waitFor(failures: number, error: unknown): number {
  const milliseconds = retryDelay(failures, error, Math.random());
  reportRequestEvent(
    isUnavailable(error)
      ? { type: 'retrying', milliseconds }
      : { type: 'waiting', seconds: Math.ceil(milliseconds / 1_000) },
  );
  return milliseconds;
}

export interface ApiOptions {
  /** False: the request waits. */
  readonly enabled?: boolean | undefined;
  /** Keeps the previous page on display while the next one loads. For lists. */
  readonly keepPrevious?: boolean | undefined;
  /** Milliseconds between requests while the page is visible; at least 5,000. */
  readonly refetchInterval?: number | undefined;
  readonly staleTime?: number | undefined;
}

/** The cache key of a read operation. */
export const queryKeyOf = <Id extends OperationId>(id: Id, input: Input<Id>) => [id, input] as const;

/** Reads an operation and caches its answer. Events of the organization refresh it. */
export function useApi<Id extends OperationId>(
  id: Id,
  input: Input<Id>,
  { keepPrevious = false, refetchInterval, ...options }: ApiOptions = {},
): UseQueryResult<Output<Id>, Error> {
  return useQuery({
    queryKey: queryKeyOf(id, input),
    // react-query refuses undefined as data.
    queryFn: async ({ signal }) => (await call(id, input, { signal })) ?? null,
    ...(keepPrevious && { placeholderData: keepPreviousData }),
    ...(refetchInterval && {
      // A refusal stays a refusal.
      refetchInterval: ({ state }: { state: { error: unknown } }) =>
        isRefusal(state.error) ? false : Math.max(shortestInterval, refetchInterval),
    }),
    ...definedOnly(options),
  }) as UseQueryResult<Output<Id>, Error>;
}

/** Sends an operation that changes something. Afterwards it reloads what is shown of the API below `refreshes`. */
export function useAction<Id extends OperationId>(
  id: Id,
  options: {
    /** Path prefixes below /api/v1 whose data changed, such as `/agents`. */
    readonly refreshes?: readonly string[];
    readonly onSuccess?: (output: Output<Id>, input: Input<Id>) => void;
  } = {},
): UseMutationResult<Output<Id>, Error, Input<Id>> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (input: Input<Id>) => call(id, input),
    // An answer may hold a secret: it must not outlive its dialog.
    gcTime: 0,
    onSuccess: (output, input) => {
      if (options.refreshes) refreshPaths(client, options.refreshes);
      options.onSuccess?.(output, input);
    },
  });
}

/** Marks the answers of all operations below these paths as stale; those on display load again. */
export function refreshPaths(client: QueryClient, prefixes: readonly string[]): void {
  void client.invalidateQueries({
    // One that waits loads after its wait.
    predicate: (query) => !isWaiting(query) && isBelow(query.queryKey[0] as OperationId, prefixes),
  });
}

/** Whether the path of an operation, below /api/v1, starts with one of these. */
export const isBelow = (id: OperationId, prefixes: readonly string[]): boolean =>
  prefixes.some((prefix) => operations[id]?.path.startsWith(`/api/v1${prefix}`));

const definedOnly = <T extends object>(options: T) =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
