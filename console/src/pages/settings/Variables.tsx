import { Switch, Text } from '@mantine/core';
import { type Column, DataTable } from '../../components/DataTable.tsx';
import { Section } from '../../components/Section.tsx';
import type { Setting } from './find-settings.ts';

const settingColumns: readonly Column<Setting>[] = [
  { header: 'Variable', width: '17rem', cell: ({ name }) => <code>{name}</code> },
  { header: 'Value', width: '15rem', cell: (setting) => <Value {...setting} /> },
  { header: 'Meaning', cell: ({ description }) => <Meaning text={description} /> },
];

/** Text in backticks is code. */
function Meaning({ text }: { readonly text: string }) {
  return (
    <Text size="xs" c="dimmed" component="span">
      {text.split('`').map((part, index) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a fixed text
        index % 2 === 1 ? <code key={index}>{part}</code> : part,
      )}
    </Text>
  );
}

const Value = ({ value, hidden }: Setting) =>
  hidden ? (
    <Text size="sm" c="dimmed" span>
      set, hidden
    </Text>
  ) : value === null ? (
    <Text size="sm" c="dimmed" span>
      not set
    </Text>
  ) : (
    <code>{value}</code>
  );

/** The variables of a search: set or not. */
export const FoundVariables = ({
  group,
  rows,
}: {
  readonly group: string;
  readonly rows: readonly Setting[];
}) => (
  <Section title={group}>
    <DataTable label={group} rows={rows} columns={settingColumns} rowId={({ name }) => name} />
  </Section>
);

interface VariablesProps {
  readonly group: string;
  readonly settings: readonly Setting[];
  readonly all: boolean;
  readonly onAll: (all: boolean) => void;
}

/** The variables of one section. */
export function Variables({ group, settings, all, onAll }: VariablesProps) {
  const shown = settings.filter(({ isSet }) => all || isSet);
  return (
    <Section
      title={group}
      description="Secrets are not sent to the browser: the page only shows whether they are set."
      actions={
        <Switch
          label="Show variables that are not set"
          checked={all}
          onChange={(event) => onAll(event.currentTarget.checked)}
          size="xs"
        />
      }
    >
      {shown.length > 0 ? (
        <DataTable label={group} rows={shown} columns={settingColumns} rowId={({ name }) => name} />
      ) : (
        <Text size="sm" c="dimmed">
          None of the {settings.length} variables of this section is set: their defaults apply.
        </Text>
      )}
    </Section>
  );
}
