/** The links of the graph and their layout. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { DelegationChain } from '../../api/generated.ts';
import { call, type Input } from '../../api/request.ts';
import { useEvents } from '../../app/event-context.tsx';
import { columnLayout, type Direction, elkLayout, type Layout, maxElkLinks } from './graph-layout.ts';
import { type GraphModel, graphOf } from './graph-model.ts';

export type LinkFilters = Omit<NonNullable<Input<'listDelegations'>['query']>, 'page' | 'limit'>;

const pageSize = 100;
const maxPages = 5;
const graphKey = 'delegationGraph';

interface GraphLinks {
  readonly links: readonly DelegationChain[];
  /** How many match; the graph has at most the newest 500. */
  readonly total: number;
}

/** Up to 500 links by at most five requests. New events load them again, the larger the graph the less often. */
export function useGraphLinks(query: LinkFilters, enabled: boolean) {
  const client = useQueryClient();
  const result = useQuery({
    queryKey: [graphKey, query],
    queryFn: ({ signal }) => fetchLinks(query, signal),
    enabled,
    staleTime: 30_000,
  });
  const pages = Math.ceil((result.data?.links.length ?? 0) / pageSize);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEvents('delegation.', () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      void client.invalidateQueries({ queryKey: [graphKey] });
    }, Math.max(1, pages) * 6_000);
  });
  return result;
}

/** Loads the graph again, after a change made here. */
export function useGraphRefresh(): () => void {
  const client = useQueryClient();
  return useCallback(() => void client.invalidateQueries({ queryKey: [graphKey] }), [client]);
}

async function fetchLinks(query: LinkFilters, signal: AbortSignal): Promise<GraphLinks> {
  const page = (number: number) =>
    call('listDelegations', { query: { ...query, page: number, limit: pageSize } }, { signal });
  const first = await page(1);
  const pages = Math.min(maxPages, Math.ceil(first.total / pageSize));
  const others = await Promise.all(
    Array.from({ length: Math.max(0, pages - 1) }, (_, index) => page(index + 2)),
  );
  // A link that was added between two requests moves another one to the next page.
  const byId = new Map([first, ...others].flatMap(({ data }) => data).map((link) => [link.chainId, link]));
  return { links: [...byId.values()], total: first.total };
}

export interface PlacedGraph extends GraphModel {
  readonly layout: Layout;
}

/** How long the page waits for elkjs before it shows columns. */
const patienceMilliseconds = 700;

/** The graph with the positions of its agents; undefined while there are none. */
export function usePlacedGraph(
  links: readonly DelegationChain[] | undefined,
  direction: Direction,
): PlacedGraph | undefined {
  const model = useMemo(() => links && graphOf(links), [links]);
  const [placed, setPlaced] = useState<PlacedGraph>();
  useEffect(() => {
    if (!model || model.links.length === 0) return setPlaced(undefined);
    const showColumns = () => setPlaced({ ...model, layout: columnLayout(model) });
    if (model.links.length > maxElkLinks) return showColumns();
    let isCurrent = true;
    const timer = setTimeout(showColumns, patienceMilliseconds);
    elkLayout(model, direction)
      .then((layout) => {
        clearTimeout(timer);
        if (isCurrent) setPlaced({ ...model, layout });
      })
      // Without a worker the columns remain.
      .catch(() => undefined);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [model, direction]);
  return placed;
}
