import { useEffect, useState } from 'react';

/** The selected rows of a table. Rows that are no longer loaded are not selected. */
export interface RowSelection<Row> {
  readonly rows: readonly Row[];
  readonly has: (row: Row) => boolean;
  readonly toggle: (row: Row) => void;
  /** All loaded rows, or none if all are selected. */
  readonly toggleAll: () => void;
  readonly clear: () => void;
  /** The rows that can be selected. */
  readonly selectable: readonly Row[];
}

interface SelectionOptions<Row> {
  /** The loaded rows. */
  readonly rows: readonly Row[];
  readonly rowId: (row: Row) => string;
  /** Another list, page or filter: a change clears the selection. */
  readonly place?: string;
  readonly isSelectable?: ((row: Row) => boolean) | undefined;
}

/** The state for the `selection` of a DataTable. Escape clears it. */
export function useRowSelection<Row>(options: SelectionOptions<Row>): RowSelection<Row> {
  const { rows: loaded, rowId, place = '', isSelectable = () => true } = options;
  const [state, setState] = useState<{ place: string; ids: ReadonlySet<string> }>({ place, ids: new Set() });
  const ids = state.place === place ? state.ids : new Set<string>();
  const selectable = loaded.filter(isSelectable);
  const rows = selectable.filter((row) => ids.has(rowId(row)));
  const set = (selected: Iterable<string>) => setState({ place, ids: new Set(selected) });
  const has = (row: Row) => ids.has(rowId(row));
  const isEmpty = rows.length === 0;
  useEffect(() => {
    if (isEmpty) return;
    const clearByKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !closesSomething(event)) setState({ place: '', ids: new Set() });
    };
    addEventListener('keydown', clearByKey);
    return () => removeEventListener('keydown', clearByKey);
  }, [isEmpty]);
  return {
    rows,
    has,
    selectable,
    toggle: (row) =>
      set(
        has(row)
          ? rows.filter((one) => rowId(one) !== rowId(row)).map(rowId)
          : [...rows.map(rowId), rowId(row)],
      ),
    toggleAll: () => set(rows.length === selectable.length ? [] : selectable.map(rowId)),
    clear: () => set([]),
  };
}

/** Escape belongs to an open dialog, menu or list of choices. */
export const closesSomething = ({ target, defaultPrevented }: KeyboardEvent): boolean =>
  defaultPrevented ||
  (target instanceof Element &&
    target.closest('[role=dialog], [role=menu], [role=listbox], [aria-expanded=true]') !== null);
