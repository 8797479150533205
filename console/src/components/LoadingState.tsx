import { Skeleton } from '@mantine/core';
import classes from './States.module.css';

interface LoadingStateProps {
  /** For screen readers, such as "Loading agents". */
  readonly label: string;
  /** How many lines to draw. */
  readonly rows?: number;
}

/** A page or list that is still loading. */
export function LoadingState({ label, rows = 6 }: LoadingStateProps) {
  return (
    <div role="status" aria-label={label} className={classes.loading}>
      {Array.from({ length: rows }, (_, row) => `row ${row}`).map((key) => (
        <Skeleton key={key} height={28} radius="sm" />
      ))}
    </div>
  );
}
