import { Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { FormSection } from '../../../components/FormSection.tsx';
import { IconButton } from '../../../components/IconButton.tsx';
import classes from '../Apis.module.css';
import { type ApiValues, newDetailType } from './api-values.ts';

const maxTypes = 20;

/** The kinds of action that requests can name exactly: a type, its description and its JSON Schema. */
export function DetailTypesInput({ form }: { readonly form: UseFormReturnType<ApiValues> }) {
  const { authorizationDetailTypes: types } = form.values;
  return (
    <FormSection
      title="Actions"
      summary={types.length === 0 ? 'none' : `${types.length} of at most ${maxTypes}`}
    >
      <Stack gap="md">
        <Text size="xs" c="dimmed">
          What an agent can ask a person for exactly, such as one payment of an amount. The schema says which
          fields it has; it sees the whole object, <code>type</code> included.
        </Text>
        {types.map(({ key }, index) => (
          <Stack key={key} gap="xs" className={classes.detailType ?? ''}>
            <TextInput
              label={`Type of action ${index + 1}`}
              required
              placeholder="payment"
              maxLength={64}
              {...form.getInputProps(`authorizationDetailTypes.${index}.type`)}
            />
            <TextInput
              label={`Description of action ${index + 1}`}
              maxLength={1024}
              {...form.getInputProps(`authorizationDetailTypes.${index}.description`)}
            />
            <Textarea
              label={`JSON Schema of action ${index + 1}`}
              required
              classNames={{ input: classes.schema ?? '' }}
              minRows={5}
              maxRows={20}
              spellCheck={false}
              autoCapitalize="none"
              {...form.getInputProps(`authorizationDetailTypes.${index}.schema`)}
            />
            <Group>
              <IconButton
                variant="default"
                icon="trash"
                size="compact-xs"
                onClick={() => form.removeListItem('authorizationDetailTypes', index)}
              >
                Remove action {index + 1}
              </IconButton>
            </Group>
          </Stack>
        ))}
        {form.errors.authorizationDetailTypes && (
          <Text size="xs" c="var(--mantine-color-error)" role="alert" data-problem>
            {form.errors.authorizationDetailTypes}
          </Text>
        )}
        <Group>
          <IconButton
            variant="default"
            icon="plus"
            onClick={() => form.insertListItem('authorizationDetailTypes', newDetailType())}
            disabled={types.length >= maxTypes}
          >
            Add an action
          </IconButton>
        </Group>
      </Stack>
    </FormSection>
  );
}
