/** How pages read and change the URL, and link to one another. */
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type AnchorHTMLAttributes, useCallback, useMemo } from 'react';
import type { Page } from './page.ts';
import { readSearch, type SearchFields, type SearchOf, writeSearch } from './search-params.ts';

/** The page's search parameters, and a function that changes some of them. */
export function usePageSearch<Fields extends SearchFields>(
  page: Page<Fields>,
): [SearchOf<Fields>, (changes: Partial<SearchOf<Fields>>) => void] {
  const raw = useSearch({ strict: false }) as Record<string, unknown>;
  const navigate = useNavigate();
  const search = useMemo(() => readSearch(page.search, raw), [page, raw]);
  const change = useCallback(
    (changes: Partial<SearchOf<Fields>>) =>
      void navigate({
        to: '.',
        // The values of the URL at this moment: two changes in one handler must not undo each other.
        search: (current: Record<string, unknown>) =>
          writeSearch(page.search, { ...readSearch(page.search, current), ...changes }),
        resetScroll: false,
      } as never),
    [navigate, page],
  );
  return [search, change];
}

/** A parameter of the path, such as `agentId` of `/agents/$agentId`. */
export const usePathParam = (name: string): string =>
  String((useParams({ strict: false }) as Record<string, unknown>)[name] ?? '');

interface PageTarget {
  /** A path below /console: `/agents` or `/agents/$agentId`. */
  readonly to: string;
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly search?: Readonly<Record<string, string>> | undefined;
}

/** Goes to another page. With `replace`, "back" skips the present one: for a dialog that is done. */
export function useGoTo(): (target: PageTarget & { readonly replace?: boolean }) => void {
  const navigate = useNavigate();
  return useCallback(
    ({ to, params = {}, search = {}, replace = false }) =>
      void navigate({ to, params, search, replace } as never),
    [navigate],
  );
}

interface PageLinkProps extends PageTarget, Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  readonly activeProps?: Readonly<Record<string, unknown>>;
  readonly activeOptions?: { readonly exact?: boolean; readonly includeSearch?: boolean };
}

/** A link to another page of the console. Use it as `component={PageLink}` of a Mantine button, too. */
export function PageLink({ to, params = {}, search = {}, ...rest }: PageLinkProps) {
  return <Link to={to} {...({ params, search, ...rest } as object)} />;
}
