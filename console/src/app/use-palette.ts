/** The finds of the palette: pages and actions at once, and agents, APIs and people by one search of the server each. */
import { useDebouncedValue } from '@mantine/hooks';
import { useMemo } from 'react';
import { titleOf } from '../api/agent-names.ts';
import { useApi } from '../api/queries.ts';
import { useCommandRegistry } from './commands.tsx';
import { useGoTo } from './navigation.tsx';
import { isAdmin } from './page.ts';
import { pagesFor } from './page-access.ts';
import { type Entry, findEntries } from './palette-entries.ts';
import { useSession } from './session-context.tsx';

const minSearch = 2;
const debounceMilliseconds = 250;
const maxFound = 6;

interface Palette {
  readonly entries: readonly Entry[];
  /** The server has not answered to the text of this moment. */
  readonly isSearching: boolean;
}

export function usePalette(typed: string): Palette {
  const fixed = useFixedEntries();
  const found = useServerSearch(typed.trim().toLowerCase());
  return {
    entries: [...findEntries(fixed, typed), ...found.entries],
    isSearching: found.isSearching,
  };
}

function useFixedEntries(): readonly Entry[] {
  const session = useSession();
  const goTo = useGoTo();
  const { commands } = useCommandRegistry();
  return useMemo(() => {
    const pages = pagesFor(session);
    const ofThisPage = commands.map(
      ({ id, label, keywords, run }): Entry => ({
        id: `command:${id}`,
        kind: 'Actions',
        label,
        keywords,
        icon: 'action',
        run,
      }),
    );
    const targets = pages
      .filter(({ navigation }) => navigation)
      .map(
        ({ path, title, navigation }): Entry => ({
          id: `page:${path}`,
          kind: 'Pages',
          label: title,
          keywords: navigation?.label,
          icon: navigation?.icon ?? 'page',
          run: () => goTo({ to: path }),
        }),
      );
    const actions = pages.flatMap(({ path, commands: all = [] }) =>
      all
        .filter(
          ({ scope, visible }) => (!scope || session.scopes.includes(scope)) && (visible?.(session) ?? true),
        )
        .map(
          ({ label, keywords, search }): Entry => ({
            id: `page-command:${path}:${label}`,
            kind: 'Actions',
            label,
            keywords,
            icon: 'action',
            run: () => goTo({ to: path, search }),
          }),
        ),
    );
    return [...targets, ...ofThisPage, ...actions];
  }, [session, commands, goTo]);
}

function useServerSearch(wanted: string): Palette {
  const session = useSession();
  const goTo = useGoTo();
  const [q] = useDebouncedValue(wanted, debounceMilliseconds);
  const searches = wanted.length >= minSearch && q.length >= minSearch;
  const options = (may: boolean) => ({ enabled: may && searches, keepPrevious: true });
  const query = { q, limit: maxFound };
  const agents = useApi('listAgents', { query }, options(session.scopes.includes('agents:read')));
  const apis = useApi('listResources', { query }, options(session.scopes.includes('resources:read')));
  const people = useApi(
    'listPeople',
    { params: { orgId: session.organizationId }, query },
    options(session.agentId !== null && isAdmin(session)),
  );
  const searched = [agents, apis, people];
  const isSearching = wanted.length >= minSearch && (q !== wanted || searched.some((one) => one.isFetching));
  if (!searches) return { entries: [], isSearching };

  const entries: Entry[] = [
    ...(agents.data?.data ?? []).map(
      ({ agentId, email, displayName }): Entry => ({
        id: `agent:${agentId}`,
        kind: 'Agents',
        label: titleOf({ displayName, email }),
        detail: displayName === null ? undefined : email,
        icon: 'agents',
        run: () => goTo({ to: '/agents/$agentId', params: { agentId } }),
      }),
    ),
    ...allOf('Agents', 'agents', agents.data?.total, () => goTo({ to: '/agents', search: { q } })),
    ...(apis.data?.data ?? []).map(
      ({ resourceId, name, identifier }): Entry => ({
        id: `api:${resourceId}`,
        kind: 'APIs',
        label: name,
        detail: identifier,
        icon: 'apis',
        run: () => goTo({ to: '/apis/$resourceId', params: { resourceId } }),
      }),
    ),
    ...allOf('APIs', 'apis', apis.data?.total, () => goTo({ to: '/apis', search: { q } })),
    ...(people.data?.data ?? []).map(
      ({ personId, name, email }): Entry => ({
        id: `person:${personId}`,
        kind: 'People',
        label: name,
        detail: email ?? undefined,
        icon: 'account',
        run: () => goTo({ to: '/organization', search: { tab: 'people', selected: personId } }),
      }),
    ),
  ];
  // Until the next answer only what still has the text stays: Enter must not open the find of an earlier text.
  const isStale = q !== wanted || searched.some((one) => one.isPlaceholderData);
  return { entries: isStale ? findEntries(entries, wanted) : entries, isSearching };
}

/** The way to the list, when the server has found more than the palette shows. */
const allOf = (
  kind: Entry['kind'],
  icon: Entry['icon'],
  total: number | undefined,
  run: () => void,
): readonly Entry[] =>
  total === undefined || total <= maxFound
    ? []
    : [{ id: `all:${kind}`, kind, label: `All ${total.toLocaleString('en')} in the list`, icon, run }];
