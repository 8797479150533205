/** Ctrl/⌘-K: pages, actions, agents, APIs and people by name. */

import { Kbd, Modal, TextInput } from '@mantine/core';
import { type KeyboardEvent, useEffect, useId, useState } from 'react';
import type { DialogProps } from '../components/FormDialog.tsx';
import { Icon } from '../components/Icon.tsx';
import { TenantText } from '../components/TenantText.tsx';
import classes from './Palette.module.css';
import { type Entry, groupEntries } from './palette-entries.ts';
import { usePalette } from './use-palette.ts';

export function Palette({ opened, onClose }: DialogProps) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title="Search the console"
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
  const { entries, isSearching } = usePalette(typed);
  const groups = groupEntries(entries);
  const ordered = groups.flatMap((group) => group.entries);

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
    if (step !== undefined && ordered.length > 0) {
      event.preventDefault();
      setActive((active + step + ordered.length) % ordered.length);
    } else if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      event.preventDefault();
      choose(ordered[active]);
    }
  };

  return (
    <>
      <TextInput
        className={classes.input ?? ''}
        variant="unstyled"
        placeholder="Agents, APIs, people, pages and actions"
        aria-label="Search agents, APIs, people, pages and actions"
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-autocomplete="list"
        {...(ordered.length > 0 && { 'aria-activedescendant': `${listId}-${active}` })}
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
        {groups.map((group) => (
          // biome-ignore lint/a11y/useSemanticElements: a fieldset is no part of a list
          <div key={group.kind} role="group" aria-label={group.kind}>
            <div className={classes.kind} aria-hidden>
              {group.kind}
            </div>
            {group.entries.map((entry) => {
              const index = ordered.indexOf(entry);
              return (
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
                  {entry.detail !== undefined && (
                    <TenantText text={entry.detail} className={classes.detail} />
                  )}
                </div>
              );
            })}
          </div>
        ))}
      </div>
      <p className={classes.state} role="status">
        {isSearching
          ? 'Searching agents, APIs and people…'
          : entries.length === 0 && 'Nothing has this name.'}
      </p>
      <p className={classes.help} aria-hidden>
        <Kbd size="xs">↑</Kbd> <Kbd size="xs">↓</Kbd> choose · <Kbd size="xs">Enter</Kbd> open ·{' '}
        <Kbd size="xs">Esc</Kbd> close
      </p>
    </>
  );
}
