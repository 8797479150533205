import { Checkbox, Text } from '@mantine/core';
import { type ColumnDef, flexRender, getCoreRowModel, useReactTable } from '@tanstack/react-table';
import { type CSSProperties, type KeyboardEvent, type MouseEvent, type ReactNode, useMemo } from 'react';
import classes from './DataTable.module.css';
import { RelativeTime } from './RelativeTime.tsx';
import type { RowSelection } from './row-selection.ts';
import { StatusBadge } from './StatusBadge.tsx';

export interface Column<Row> {
  /** Each column of a table has another. */
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** CSS width, such as `8rem`. Without it the column takes its share. */
  readonly width?: string;
  readonly align?: 'left' | 'right';
  /** The server sorts by this column. */
  readonly sort?: SortColumn;
  /** Left out where each row is a list of its cells: on a narrow screen. */
  readonly isMinor?: boolean;
  /** For a first column: the cell, or another of the row, has the link that opens the row. */
  readonly hasLink?: boolean;
}

export interface SortColumn {
  /** The value of `sort`. */
  readonly by: string;
  /** The order of the first click: `asc` for names, `desc` for times. */
  readonly first: 'asc' | 'desc';
  /** The order of the list without `sort`. */
  readonly isDefault?: boolean;
}

/** How the rows are sorted, and a function that sorts them by another column or turns the order around. */
export interface Sorting {
  readonly by: string | undefined;
  readonly order: 'asc' | 'desc';
  readonly change: (column: SortColumn) => void;
}

interface TimeColumnOptions extends Pick<Column<never>, 'width' | 'sort' | 'isMinor'> {
  readonly fallback?: string;
}

/** A column with a time, such as "3 minutes ago". */
export const timeColumn = <Row,>(
  header: string,
  timeOf: (row: Row) => string | null,
  { width = '8.5rem', fallback = 'never', ...rest }: TimeColumnOptions = {},
): Column<Row> => ({
  ...rest,
  header,
  width,
  cell: (row) => <RelativeTime time={timeOf(row)} fallback={fallback} />,
});

/** A column with a coloured status. */
export const statusColumn = <Row extends { readonly status: string }>(width = '8rem'): Column<Row> => ({
  header: 'Status',
  width,
  cell: ({ status }) => <StatusBadge status={status} />,
});

export interface DataTableProps<Row> {
  /** For screen readers: "Agents". */
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly rowId: (row: Row) => string;
  /** Opens a row: by a click, or Enter on the focused row. Without it a click follows the first link of the row. */
  readonly onSelect?: ((row: Row) => void) | undefined;
  /** Makes the first cell the link that a click on the row follows. */
  readonly linkOf?: ((row: Row, content: ReactNode) => ReactNode) | undefined;
  readonly selectedId?: string | undefined;
  /** A column with checkboxes. `nameOf` names the row for screen readers. */
  readonly selection?: (RowSelection<Row> & { readonly nameOf: (row: Row) => string }) | undefined;
  /** For columns with `sort`. */
  readonly sorting?: Sorting | undefined;
}

/** Parts of a row that do not open it. */
const ownMeaning = `a, button, input, label, summary, .${classes.check}`;

/**
 * A click anywhere in a row opens what the row is about: what the page says, or else the first link in it. With Ctrl or Command the link
 * opens in another tab.
 */
function openRow(event: MouseEvent<HTMLTableRowElement>, select: (() => void) | undefined): void {
  const row = event.currentTarget;
  // A click that ends the marking of a text opens nothing.
  if ((event.target as Element).closest(ownMeaning) || getSelection()?.type === 'Range') return;
  const { ctrlKey, metaKey } = event;
  const link = row.querySelector('td a[href]:not([target])');
  if (select && !(link && (ctrlKey || metaKey))) select();
  else
    link?.dispatchEvent(
      new window.MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey, metaKey }),
    );
}

/** A table, or a text without rows. */
export function TableOrText<Row>({ empty, ...table }: DataTableProps<Row> & { readonly empty: ReactNode }) {
  if (table.rows.length > 0) return <DataTable {...table} />;
  return (
    <Text size="sm" c="dimmed">
      {empty}
    </Text>
  );
}

/** A table. Below 700 px each row becomes a small list of its cells. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, rows, columns, rowId, onSelect, linkOf, selectedId, selection, sorting } = props;
  const definitions = useMemo<ColumnDef<Row>[]>(
    () =>
      columns.map(({ header, cell, hasLink }, place) => ({
        id: header,
        header,
        cell: ({ row: { original } }) =>
          linkOf && place === 0 && !hasLink ? linkOf(original, cell(original)) : cell(original),
      })),
    [columns, linkOf],
  );
  // The keyboard opens the row through its link.
  const isStop = onSelect !== undefined && linkOf === undefined;
  const table = useReactTable({
    data: rows as Row[],
    columns: definitions,
    getCoreRowModel: getCoreRowModel(),
    getRowId: rowId,
  });
  const styleOf = (id: string) => {
    const column = columns.find(({ header }) => header === id);
    return { '--width': column?.width, '--align': column?.align } as CSSProperties;
  };
  const minor = new Set(columns.flatMap(({ header, isMinor }) => (isMinor ? [header] : [])));
  const toggle = (row: Row) => {
    if (selection?.selectable.includes(row)) selection.toggle(row);
  };
  const selectByKey = (event: KeyboardEvent, row: Row) => {
    if (event.target !== event.currentTarget || (event.key !== 'Enter' && event.key !== ' ')) return;
    event.preventDefault();
    if (selection && event.key === ' ') toggle(row);
    else onSelect?.(row);
  };
  return (
    <div className={classes.box}>
      <table className={classes.table} aria-label={label}>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {selection && (
                <th scope="col" className={classes.check}>
                  <Checkbox
                    size="xs"
                    aria-label={`Select all ${rows.length} rows of this page`}
                    checked={
                      selection.rows.length > 0 && selection.rows.length === selection.selectable.length
                    }
                    indeterminate={
                      selection.rows.length > 0 && selection.rows.length < selection.selectable.length
                    }
                    disabled={selection.selectable.length === 0}
                    onChange={selection.toggleAll}
                  />
                </th>
              )}
              {group.headers.map((header) => (
                <HeadCell
                  key={header.id}
                  style={styleOf(header.id)}
                  column={columns.find((column) => column.header === header.id)}
                  sorting={sorting}
                >
                  {flexRender(header.column.columnDef.header, header.getContext())}
                </HeadCell>
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <tr
              key={row.id}
              data-selected={row.id === selectedId || undefined}
              data-checked={selection?.has(row.original) || undefined}
              data-selectable={onSelect !== undefined || undefined}
              onClick={(event) => openRow(event, onSelect && (() => onSelect(row.original)))}
              {...(onSelect && { 'aria-selected': row.id === selectedId })}
              {...(isStop && { tabIndex: 0, onKeyDown: (event) => selectByKey(event, row.original) })}
            >
              {selection && (
                <td className={classes.check}>
                  <Checkbox
                    size="xs"
                    aria-label={`Select ${selection.nameOf(row.original)}`}
                    checked={selection.has(row.original)}
                    disabled={!selection.selectable.includes(row.original)}
                    onChange={() => toggle(row.original)}
                  />
                </td>
              )}
              {row.getVisibleCells().map((cell) => (
                <td
                  key={cell.id}
                  style={styleOf(cell.column.id)}
                  data-label={String(cell.column.columnDef.header)}
                  data-minor={minor.has(cell.column.id) || undefined}
                >
                  {flexRender(cell.column.columnDef.cell, cell.getContext())}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface HeadCellProps {
  readonly style: CSSProperties;
  readonly column: Pick<Column<never>, 'sort'> | undefined;
  readonly sorting: Sorting | undefined;
  readonly children: ReactNode;
}

const ariaOrders = { asc: 'ascending', desc: 'descending' } as const;

/** The head of a column. One that the server sorts by is a button. */
function HeadCell({ style, column, sorting, children }: HeadCellProps) {
  const { sort } = column ?? {};
  if (!sort || !sorting)
    return (
      <th scope="col" style={style}>
        {children}
      </th>
    );
  const isSorted = sorting.by === sort.by;
  return (
    <th scope="col" style={style} aria-sort={isSorted ? ariaOrders[sorting.order] : 'none'}>
      <button type="button" className={classes.sort} onClick={() => sorting.change(sort)}>
        {children}
        <span aria-hidden="true">{isSorted ? (sorting.order === 'asc' ? '↑' : '↓') : '↕'}</span>
      </button>
    </th>
  );
}
