import { Checkbox, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { FormSection } from './FormSection.tsx';
import { visibleText } from './TenantText.tsx';

interface Choice {
  readonly value: string;
  /** Instead of the value. */
  readonly label?: ReactNode;
  readonly description?: ReactNode;
  readonly disabled?: boolean;
}

interface CheckListProps {
  readonly label: ReactNode;
  readonly description?: ReactNode;
  readonly choices: readonly Choice[];
  /** With `onChange` and `error` also from `form.getInputProps`. */
  readonly value?: readonly string[];
  readonly onChange?: (chosen: string[]) => void;
  readonly error?: ReactNode;
  readonly required?: boolean;
  readonly disabled?: boolean;
  /** Without choices. */
  readonly none?: ReactNode;
}

/** More would push the rest of the form out of view. */
const maxOpen = 6;

/** Several of some choices. A long list is closed, and says what is chosen. */
export function CheckList({ choices, value = [], disabled = false, none, ...group }: CheckListProps) {
  const list = (
    <Stack gap="xs">
      {choices.map((choice) => (
        <Checkbox
          key={choice.value}
          value={choice.value}
          label={choice.label ?? <code>{visibleText(choice.value)}</code>}
          description={choice.description}
          disabled={disabled || choice.disabled === true}
        />
      ))}
      {choices.length === 0 && (
        <Text size="sm" c="dimmed">
          {none}
        </Text>
      )}
    </Stack>
  );
  return (
    <Checkbox.Group value={[...value]} {...group}>
      <div style={{ marginTop: '0.5rem' }}>
        {choices.length > maxOpen ? (
          <FormSection title={<Choose label={group.label} />} summary={chosenText(value, choices.length)}>
            {list}
          </FormSection>
        ) : (
          list
        )}
      </div>
    </Checkbox.Group>
  );
}

const Choose = ({ label }: { readonly label: ReactNode }) => (
  <>
    Choose<span className="visually-hidden">: {label}</span>
  </>
);

const maxNamed = 3;

/** "none of 24", "2 of 24: agents:read, agents:write". */
function chosenText(chosen: readonly string[], count: number): string {
  if (chosen.length === 0) return `none of ${count}`;
  const rest = chosen.length > maxNamed ? ', …' : '';
  return `${chosen.length} of ${count}: ${visibleText(chosen.slice(0, maxNamed).join(', '))}${rest}`;
}
