import { Stack, TextInput } from '@mantine/core';
import type { Instance } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { PageLink, usePageSearch } from '../../app/navigation.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { EmptyState } from '../../components/EmptyState.tsx';
import { Icon } from '../../components/Icon.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { QueryState } from '../../components/QueryState.tsx';
import { useTyped } from '../../components/use-typed.ts';
import { findSettings, type Setting } from './find-settings.ts';
import { InstanceState } from './InstanceState.tsx';
import { settingsPage } from './page.ts';
import classes from './Settings.module.css';
import { FoundVariables, Variables } from './Variables.tsx';

/** The state of the instance, and its settings without secrets: in sections, with a search over all of them. */
export function SettingsPage() {
  const query = useApi('getInstance', {});
  const [{ q }, change] = usePageSearch(settingsPage);
  const { typed, setTyped } = useTyped(q ?? '', (text) => change({ q: text || undefined }));
  return (
    <>
      <PageTitle
        title="Settings"
        description="The state of this instance. Settings are environment variables of the server and cannot be changed here."
        actions={<CopyAs operation="getInstance" input={{}} />}
      />
      <search className={classes.search}>
        <TextInput
          aria-label="Search settings"
          placeholder="Search settings: a variable, a value, a word of its meaning"
          leftSection={<Icon name="search" size={14} />}
          type="search"
          maxLength={200}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      </search>
      <QueryState query={query} label="Loading settings" rows={10}>
        {(instance) => {
          const wanted = typed.trim();
          return wanted === '' ? (
            <Sections instance={instance} />
          ) : (
            <Found settings={findSettings(instance.configuration, wanted)} />
          );
        }}
      </QueryState>
    </>
  );
}

const byGroup = (settings: readonly Setting[]) => [...Map.groupBy(settings, ({ group }) => group)];

function Sections({ instance }: { readonly instance: Instance }) {
  const [{ section, all }, change] = usePageSearch(settingsPage);
  const groups = byGroup(instance.configuration);
  const chosen = groups.find(([group]) => group === section);
  return (
    <div className={classes.sections}>
      <nav aria-label="Sections of the settings">
        <ul className={classes.list}>
          <SectionLink name="This instance" isCurrent={!chosen} />
          {groups.map(([group, settings]) => (
            <SectionLink
              key={group}
              name={group}
              section={group}
              count={settings.filter(({ isSet }) => isSet).length}
              isCurrent={group === chosen?.[0]}
            />
          ))}
        </ul>
      </nav>
      {chosen ? (
        <Variables group={chosen[0]} settings={chosen[1]} all={all} onAll={(next) => change({ all: next })} />
      ) : (
        <InstanceState instance={instance} />
      )}
    </div>
  );
}

interface SectionLinkProps {
  readonly name: string;
  readonly section?: string;
  /** How many of its variables are set. */
  readonly count?: number;
  readonly isCurrent: boolean;
}

const SectionLink = ({ name, section, count, isCurrent }: SectionLinkProps) => (
  <li>
    <PageLink
      to="/settings"
      search={section === undefined ? {} : { section }}
      className={classes.link}
      // Every section has this path: the search tells which one is open.
      activeOptions={{ exact: true, includeSearch: true }}
      data-current={isCurrent || undefined}
      aria-current={isCurrent ? 'true' : undefined}
    >
      {name}
      {count !== undefined && (
        <span className={classes.count}>
          {count}
          <span className="visually-hidden"> set</span>
        </span>
      )}
    </PageLink>
  </li>
);

const Found = ({ settings }: { readonly settings: readonly Setting[] }) =>
  settings.length === 0 ? (
    <EmptyState
      title="No setting has these words"
      text="The search looks at names, values and meanings."
      icon="search"
    />
  ) : (
    <Stack gap="md">
      {byGroup(settings).map(([group, rows]) => (
        <FoundVariables key={group} group={group} rows={rows} />
      ))}
    </Stack>
  );
