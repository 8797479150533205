import { UnstyledButton } from '@mantine/core';
import classes from './BarList.module.css';

export interface BarListRow {
  readonly id: string;
  readonly label: string;
  readonly count: number;
}

interface BarListProps<Row extends BarListRow> {
  /** For screen readers. */
  readonly label: string;
  readonly rows: readonly Row[];
  readonly onSelect: (row: Row) => void;
}

/** Figures of categories, the largest first: each with its whole name, its number, and a bar that compares it. */
export function BarList<Row extends BarListRow>({ label, rows, onSelect }: BarListProps<Row>) {
  const largest = Math.max(1, ...rows.map(({ count }) => count));
  return (
    <ul className={classes.list} aria-label={label}>
      {rows.map((row) => (
        <li key={row.id}>
          <UnstyledButton className={classes.row ?? ''} onClick={() => onSelect(row)}>
            <span className={classes.label}>{row.label}</span>
            <span className={classes.count}>{row.count.toLocaleString('en')}</span>
            <span className={classes.track} aria-hidden="true">
              <span className={classes.bar} style={{ width: `${(row.count / largest) * 100}%` }} />
            </span>
          </UnstyledButton>
        </li>
      ))}
    </ul>
  );
}
