/** Ctrl/⌘-K: pages, actions of pages, and agents by name. */

import { Kbd, Modal, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type KeyboardEvent, useEffect, useId, useMemo, useState } from 'react';
import { useApi } from '../api/queries.ts';
import type { DialogProps } from '../components/FormDialog.tsx';
import { Icon, type IconName } from '../components/Icon.tsx';
import { TenantText } from '../components/TenantText.tsx';
import { useCommandRegistry } from './commands.tsx';
import { useGoTo } from './navigation.tsx';
import classes from './Palette.module.css';
import { pagesFor } from './page-access.ts';
import { useSession } from './session-context.tsx';

interface Entry {
  readonly id: string;
  readonly label: string;
  readonly keywords: string;
  readonly kind: 'Page' | 'Action' | 'Agent';
  readonly icon: IconName;
  readonly run: () => void;
}

const maxEntries = 40;
const minAgentSearch = 2;
const debounceMilliseconds = 250;

export function Palette({ opened, onClose }: DialogProps) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title="Go to a page, an action or an agent"
      size="lg"
      yOffset="10vh"
      centered={false}
      padding={0}
      classNames={{ header: classes.header, title: classes.title }}
    >
      <PaletteContent onClose={onClose} />
    </Modal>
  );
}

function PaletteContent({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const [active, setActive] = useState(0);
  const listId = useId();
  const entries = useEntries(typed);

  useEffect(() => {
    document.getElementById(`${listId}-${active}`)?.scrollIntoView({ block: 'nearest' });
  }, [active, listId]);

  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const move = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined && entries.length > 0) {
      event.preventDefault();
      setActive((active + step + entries.length) % entries.length);
    } else if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      event.preventDefault();
      choose(entries[active]);
    }
  };

  return (
    <>
      <TextInput
        className={classes.input ?? ''}
        variant="unstyled"
        placeholder="Search"
        aria-label="Search pages, actions and agents"
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-autocomplete="list"
        {...(entries.length > 0 && { 'aria-activedescendant': `${listId}-${active}` })}
        leftSection={<Icon name="search" />}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={move}
        data-autofocus
      />
      <div id={listId} role="listbox" aria-label="Results" className={classes.list}>
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard stays in the input, as in every combobox
          <div
            key={entry.id}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            className={classes.entry}
            onClick={() => choose(entry)}
            onMouseMove={() => setActive(index)}
          >
            <Icon name={entry.icon} />
            <TenantText text={entry.label} className={classes.label} />
            <span className={classes.kind}>{entry.kind}</span>
          </div>
        ))}
      </div>
      {entries.length === 0 && <p className={classes.none}>Nothing has this name.</p>}
      <p className={classes.help} aria-hidden>
        <Kbd size="xs">↑</Kbd> <Kbd size="xs">↓</Kbd> choose · <Kbd size="xs">Enter</Kbd> open ·{' '}
        <Kbd size="xs">Esc</Kbd> close
      </p>
    </>
  );
}

function useEntries(typed: string): readonly Entry[] {
  const session = useSession();
  const goTo = useGoTo();
  const { commands } = useCommandRegistry();
  const wanted = typed.trim().toLowerCase();
  const [debounced] = useDebouncedValue(wanted, debounceMilliseconds);
  const agents = useApi(
    'listAgents',
    { query: { q: debounced, limit: 8 } },
    { enabled: session.scopes.includes('agents:read') && debounced.length >= minAgentSearch },
  );

  const fixed = useMemo<readonly Entry[]>(() => {
    const pages = pagesFor(session);
    return [
      ...commands.map(({ id, label, keywords = '', run }) => ({
        id: `command:${id}`,
        label,
        keywords,
        kind: 'Action' as const,
        icon: 'action' as const,
        run,
      })),
      ...pages
        .filter(({ navigation }) => navigation)
        .map(({ path, title, navigation }) => ({
          id: `page:${path}`,
          label: title,
          keywords: navigation?.label ?? '',
          kind: 'Page' as const,
          icon: navigation?.icon ?? ('page' as const),
          run: () => goTo({ to: path }),
        })),
      ...pages.flatMap(({ path, commands: all = [] }) =>
        all
          .filter(
            ({ scope, visible }) =>
              (!scope || session.scopes.includes(scope)) && (visible?.(session) ?? true),
          )
          .map(({ label, keywords = '', search }) => ({
            id: `page-command:${path}:${label}`,
            label,
            keywords,
            kind: 'Action' as const,
            icon: 'action' as const,
            run: () => goTo({ to: path, search }),
          })),
      ),
    ];
  }, [session, commands, goTo]);

  const words = wanted.split(/\s+/).filter(Boolean);
  const matching = fixed.filter(({ label, keywords }) => {
    const haystack = `${label} ${keywords}`.toLowerCase();
    return words.every((word) => haystack.includes(word));
  });
  const found: readonly Entry[] =
    wanted.length >= minAgentSearch
      ? (agents.data?.data ?? []).map(({ agentId, email }) => ({
          id: `agent:${agentId}`,
          label: email,
          keywords: '',
          kind: 'Agent' as const,
          icon: 'agents' as const,
          run: () => goTo({ to: '/agents/$agentId', params: { agentId } }),
        }))
      : [];
  return [...matching, ...found].slice(0, maxEntries);
}
