import { ActionIcon, Autocomplete, Group, Select, Stack, TagsInput, Text } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import classes from './ConditionsEditor.module.css';
import { type ConditionValues, type Operator, operatorLabels, operators } from './conditions.ts';
import { Icon } from './Icon.tsx';
import { IconButton } from './IconButton.tsx';

/** The field of the form. It may have others. */
interface WithConditions extends Record<string, unknown> {
  conditions: ConditionValues[];
}

interface ConditionsEditorProps<Values extends WithConditions> {
  readonly form: UseFormReturnType<Values>;
  /** Claims of the provider. */
  readonly suggestions: readonly string[];
  /** Shown without conditions. */
  readonly none: string;
}

const maxConditions = 20;

/** The conditions on claims of the token, which all must hold. */
export function ConditionsEditor<Values extends WithConditions>({
  suggestions,
  none,
  ...props
}: ConditionsEditorProps<Values>) {
  const form = props.form as unknown as UseFormReturnType<WithConditions>;
  const { conditions } = form.values;
  return (
    <fieldset className={classes.condition}>
      <legend>Conditions</legend>
      <Stack gap="xs">
        {conditions.length === 0 && (
          <Text size="sm" c="dimmed">
            {none}
          </Text>
        )}
        {conditions.map((condition, index) => (
          <ConditionFields
            // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no other identity
            key={index}
            form={form}
            index={index}
            condition={condition}
            suggestions={suggestions}
          />
        ))}
        <Group>
          <IconButton
            variant="default"
            icon="plus"
            disabled={conditions.length >= maxConditions}
            onClick={() => form.insertListItem('conditions', { claim: '', operator: 'equals', values: [] })}
          >
            Add condition
          </IconButton>
        </Group>
        {typeof form.errors.conditions === 'string' && (
          <Text size="sm" c="var(--mantine-color-error)" data-problem>
            {form.errors.conditions}
          </Text>
        )}
      </Stack>
    </fieldset>
  );
}

interface ConditionFieldsProps {
  readonly form: UseFormReturnType<WithConditions>;
  readonly suggestions: readonly string[];
  readonly index: number;
  readonly condition: ConditionValues;
}

function ConditionFields({ form, index, condition, suggestions }: ConditionFieldsProps) {
  const number = index + 1;
  const at = (field: string) => `conditions.${index}.${field}`;
  const chooseOperator = (operator: Operator) => {
    form.setFieldValue(at('operator'), operator);
    if (operator === 'exists') form.setFieldValue(at('values'), []);
  };
  return (
    <Group gap="xs" align="flex-start" role="group" aria-label={`Condition ${number}`}>
      <Autocomplete
        aria-label={`Claim of condition ${number}`}
        placeholder="Claim"
        data={[...suggestions]}
        maxLength={256}
        flex="1 1 9rem"
        {...form.getInputProps(at('claim'))}
      />
      <Select
        aria-label={`Operator of condition ${number}`}
        data={operators.map((operator) => ({ value: operator, label: operatorLabels[operator] }))}
        value={condition.operator}
        onChange={(next) => next && chooseOperator(next as Operator)}
        allowDeselect={false}
        w="10.5rem"
      />
      {condition.operator !== 'exists' && (
        <TagsInput
          aria-label={`Values of condition ${number}`}
          placeholder={condition.operator === 'equals' ? 'One value' : 'Values'}
          maxTags={condition.operator === 'equals' ? 1 : 50}
          acceptValueOnBlur
          flex="2 1 11rem"
          {...form.getInputProps(at('values'))}
        />
      )}
      <ActionIcon
        aria-label={`Remove condition ${number}`}
        mt={4}
        onClick={() => form.removeListItem('conditions', index)}
      >
        <Icon name="trash" />
      </ActionIcon>
    </Group>
  );
}
