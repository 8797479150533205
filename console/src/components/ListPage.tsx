import { ActionIcon, Button, Group, Pagination, Text, Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import { type Column, DataTable, type Sorting } from './DataTable.tsx';
import { DetailPane } from './DetailPane.tsx';
import { EmptyState, type EmptyStateProps } from './EmptyState.tsx';
import { ErrorState } from './ErrorState.tsx';
import { type Filter, FilterBar, type FilterValues } from './FilterBar.tsx';
import { Icon } from './Icon.tsx';
import classes from './ListPage.module.css';
import { LoadingState } from './LoadingState.tsx';
import { OpenLink } from './OpenLink.tsx';
import { PageTitle } from './PageTitle.tsx';
import { type RowSelection, useRowSelection } from './row-selection.ts';
import { SelectionBar } from './SelectionBar.tsx';

/** A page of the server. Lists that come whole have only `data`. */
interface ListData<Row> {
  readonly data: readonly Row[];
  readonly total?: number;
  readonly page?: number;
  readonly limit?: number;
}

/** The parts of a query that a list needs, so that a page can bring its data into this form. */
interface ListQuery<Row> {
  readonly data: ListData<Row> | undefined;
  readonly error: Error | null;
  readonly isFetching: boolean;
  readonly isPending: boolean;
  readonly refetch: () => Promise<unknown>;
}

/** The search parameters that the list itself uses: `page`, `selected`, and those of the filters. */
type ListSearch = Readonly<Record<string, string | number | boolean | undefined>>;

interface ListPageProps<Row> {
  readonly title: string;
  readonly description?: ReactNode;
  /** Plural, for counts and screen readers: "agents". */
  readonly noun: string;
  /** From `useApi(…, { keepPrevious: true })`. */
  readonly query: ListQuery<Row>;
  readonly columns: readonly Column<Row>[];
  readonly rowId: (row: Row) => string;
  /** Both from `usePageSearch(page)`. */
  readonly search: ListSearch;
  // biome-ignore lint/suspicious/noExplicitAny: a function that takes the search of one page is no function of ListSearch
  readonly onSearch: (changes: any) => void;
  readonly filters?: readonly Filter[];
  /** Without filters and rows. With a filter the list says that nothing matches. */
  readonly empty: Omit<EmptyStateProps, 'action'>;
  /** The button that makes one: beside the title, or in the empty list. */
  readonly create?: ReactNode;
  /** Beside "Try again", for a failure that has another way out. */
  readonly errorHelp?: (error: Error) => ReactNode;
  /** Beside the title: `<CopyAs …>`, other buttons. */
  readonly actions?: ReactNode;
  /** Makes rows selectable. `id` is the search parameter `selected`; the row is absent when it is on another page. */
  readonly detail?: {
    readonly title: (id: string, row: Row | undefined) => ReactNode;
    readonly render: (id: string, row: Row | undefined) => ReactNode;
  };
  /** Instead of the detail pane: goes to the page of the row. */
  readonly onOpen?: (row: Row) => void;
  /** A column with checkboxes, and a bar with the actions of the selected rows. */
  readonly selection?:
    | {
        /** Names the row for screen readers. */
        readonly nameOf: (row: Row) => string;
        /** Buttons. Call `clear` after success. */
        readonly actions: (selected: readonly Row[], clear: () => void) => ReactNode;
        /** False: the checkbox of the row is disabled. */
        readonly isSelectable?: (row: Row) => boolean;
      }
    | undefined;
  /** Between filters and table. */
  readonly children?: ReactNode;
  /** False inside another page: no heading, and the actions beside the filters. */
  readonly withTitle?: boolean;
}

/** The one list pattern: title, filters with chips, table, pages of the server, detail pane. Everything is in the URL. */
export function ListPage<Row>(props: ListPageProps<Row>) {
  const { title, description, noun, query, filters = [], search, onSearch, detail, children } = props;
  const { withTitle = true } = props;
  const selected = typeof search.selected === 'string' ? search.selected : undefined;
  const rows = query.data?.data ?? [];
  const row = rows.find((one) => props.rowId(one) === selected);
  const { selected: _, ...place } = search;
  const checked = useRowSelection({
    rows: props.selection ? rows : [],
    rowId: props.rowId,
    place: JSON.stringify([place, query.data?.page]),
    isSelectable: props.selection?.isSelectable,
  });
  const selectionLabel = `${counted(checked.rows.length, noun)} selected`;
  const isEmpty = isEmptyList(props);
  const actions = (props.actions || (props.create && !isEmpty)) && (
    <>
      {props.actions}
      {!isEmpty && props.create}
    </>
  );
  const change = (changes: FilterValues) => onSearch({ ...changes, page: 1, selected: undefined });
  return (
    <>
      {withTitle && <PageTitle title={title} description={description} actions={actions} />}
      <div className={classes.head}>
        {filters.length > 0 && !isEmpty && (
          <FilterBar filters={filters} values={search as FilterValues} onChange={change} />
        )}
        {!withTitle && actions && (
          <div className={classes.actions} data-actions>
            {actions}
          </div>
        )}
      </div>
      {children}
      <div className={classes.columns}>
        <div className={classes.list}>
          <ListContent {...props} selected={selected} checked={checked} />
          {props.selection && checked.rows.length > 0 && (
            <SelectionBar label={selectionLabel} onClear={checked.clear}>
              {props.selection.actions(checked.rows, checked.clear)}
            </SelectionBar>
          )}
        </div>
        {detail && selected !== undefined && (
          <DetailPane
            opened
            onClose={() => onSearch({ selected: undefined })}
            title={detail.title(selected, row)}
          >
            {detail.render(selected, row)}
          </DetailPane>
        )}
      </div>
      <span className="visually-hidden" role="status">
        {checked.rows.length > 0
          ? selectionLabel
          : query.data && !query.isFetching
            ? counted(query.data.total ?? rows.length, noun)
            : ''}
      </span>
    </>
  );
}

/** Nothing is there, and no filter hides it. */
const isEmptyList = <Row,>({ query, filters = [], search }: ListPageProps<Row>): boolean =>
  query.data !== undefined &&
  (query.data.total ?? query.data.data.length) === 0 &&
  query.data.data.length === 0 &&
  !isFilteredBy(filters, search);

const isFilteredBy = (filters: readonly Filter[], search: ListSearch): boolean =>
  filters
    .flatMap((filter) => (filter.kind === 'time' ? ['from', 'to'] : [filter.name]))
    .some((name) => search[name] !== undefined);

interface ListContentProps<Row> extends ListPageProps<Row> {
  readonly selected: string | undefined;
  readonly checked: RowSelection<Row>;
}

function ListContent<Row>(props: ListContentProps<Row>) {
  const {
    query,
    noun,
    filters = [],
    search,
    onSearch,
    columns,
    rowId,
    empty,
    detail,
    onOpen,
    selected,
  } = props;
  if (query.isPending) return <LoadingState label={`Loading ${noun}`} />;
  if (query.error && !query.data)
    return (
      <ErrorState
        error={query.error}
        onRetry={() => void query.refetch()}
        help={props.errorHelp?.(query.error)}
      />
    );
  const rows = query.data?.data ?? [];
  const select = onOpen ?? (detail && ((row: Row) => onSearch({ selected: rowId(row) })));
  const isFiltered = isFilteredBy(filters, search);
  const total = query.data?.total ?? rows.length;
  return (
    <>
      {query.error && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {rows.length > 0 ? (
        <div className={classes.table} data-fetching={query.isFetching || undefined}>
          <DataTable
            label={props.title}
            rows={rows}
            columns={columns}
            rowId={rowId}
            onSelect={select}
            linkOf={
              detail && !onOpen ? (row, content) => <OpenLink id={rowId(row)}>{content}</OpenLink> : undefined
            }
            selectedId={selected}
            sorting={sortingOf(columns, search, onSearch)}
            selection={props.selection && { ...props.checked, nameOf: props.selection.nameOf }}
          />
        </div>
      ) : total > 0 ? (
        <EmptyState
          title={`This page has no ${noun}`}
          text="The list is shorter than that."
          icon="filter"
          action={<Button onClick={() => onSearch({ page: 1, selected: undefined })}>First page</Button>}
        />
      ) : isFiltered ? (
        <EmptyState title={`No ${noun} match`} text="Change or clear the filters." icon="filter" />
      ) : (
        <EmptyState {...empty} action={props.create} />
      )}
      {!isEmptyList(props) && <Footer {...props} total={total} />}
    </>
  );
}

/** The search parameters `sort` and `order`. Those of the order without them are not written to the URL. */
function sortingOf<Row>(
  columns: readonly Column<Row>[],
  search: ListSearch,
  onSearch: (changes: Record<string, unknown>) => void,
): Sorting | undefined {
  const sorts = columns.flatMap(({ sort }) => sort ?? []);
  const sorted = sorts.find(({ by, isDefault }) =>
    search.sort === undefined ? isDefault : by === search.sort,
  );
  if (sorts.length === 0) return undefined;
  const order = (search.order as Sorting['order'] | undefined) ?? sorted?.first ?? 'asc';
  return {
    by: sorted?.by,
    order,
    change: ({ by, first, isDefault }) => {
      const next = by !== sorted?.by ? first : order === 'asc' ? 'desc' : 'asc';
      onSearch({
        sort: isDefault ? undefined : by,
        order: next === first ? undefined : next,
        page: 1,
        selected: undefined,
      });
    },
  };
}

function Footer<Row>({ query, noun, onSearch, total }: ListPageProps<Row> & { readonly total: number }) {
  const { page = 1, limit = 0 } = query.data ?? {};
  const pageCount = limit > 0 ? Math.max(1, Math.ceil(total / limit)) : 1;
  return (
    <Group justify="space-between" mt="xs" gap="xs">
      <Group gap="xs">
        <Text size="xs" c="dimmed">
          {counted(total, noun)}
        </Text>
        <Tooltip label="Load again">
          <ActionIcon aria-label={`Load ${noun} again`} onClick={() => void query.refetch()} size="sm">
            <Icon name="refresh" size={14} />
          </ActionIcon>
        </Tooltip>
      </Group>
      {pageCount > 1 && (
        <Pagination
          size="sm"
          total={pageCount}
          value={Math.min(page, pageCount)}
          onChange={(next) => onSearch({ page: next, selected: undefined })}
          getItemProps={(number) => ({ 'aria-label': `Page ${number}` })}
          getControlProps={(control) => ({ 'aria-label': controlNames[control] ?? control })}
        />
      )}
    </Group>
  );
}

const controlNames: Readonly<Record<string, string>> = { previous: 'Previous page', next: 'Next page' };

/** "1 agent", "2,500 agents". */
function counted(count: number, noun: string): string {
  const singular = noun === 'people' ? 'person' : noun.replace(/ies$/, 'y').replace(/s( with .+)?$/, '$1');
  return `${count.toLocaleString('en')} ${count === 1 ? singular : noun}`;
}
