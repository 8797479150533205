import type { ReactNode } from 'react';
import { ErrorState } from './ErrorState.tsx';
import { LoadingState } from './LoadingState.tsx';

interface QueryStateProps<Data> {
  /** From `useApi` or `useQuery`. */
  readonly query: {
    readonly data: Data | undefined;
    readonly error: Error | null;
    readonly refetch: () => Promise<unknown>;
  };
  /** While it loads: "Loading the listing". */
  readonly label: string;
  /** How many lines to draw while it loads. */
  readonly rows?: number;
  readonly errorTitle?: string;
  /** Left out where the data is shown elsewhere. */
  readonly children?: (data: Data) => ReactNode;
}

/** The data of a query, or the state without data: loading or failed. */
export function QueryState<Data>({ query, label, rows = 6, errorTitle, children }: QueryStateProps<Data>) {
  const { data, error, refetch } = query;
  if (data !== undefined) return children?.(data);
  if (error) return <ErrorState error={error} title={errorTitle} onRetry={() => void refetch()} />;
  return <LoadingState label={label} rows={rows} />;
}
