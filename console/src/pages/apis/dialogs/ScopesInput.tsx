import { ActionIcon, Fieldset, Group, Stack, Text, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { Icon } from '../../../components/Icon.tsx';
import { IconButton } from '../../../components/IconButton.tsx';
import { RequiredMark } from '../../../components/RequiredMark.tsx';
import classes from '../Apis.module.css';
import { type ApiValues, newScope } from './api-values.ts';

const maxScopes = 100;

/** The scopes of an API: names with descriptions. */
export function ScopesInput({ form }: { readonly form: UseFormReturnType<ApiValues> }) {
  const { scopes } = form.values;
  return (
    <Fieldset
      legend={
        <>
          Scopes
          <RequiredMark />
        </>
      }
    >
      <Stack gap="xs">
        <Text size="xs" c="dimmed">
          What an agent can be allowed to do at your API, such as <code>orders:read</code>.
        </Text>
        {scopes.map(({ key }, index) => (
          <div key={key} className={classes.scopeRow}>
            <TextInput
              aria-label={`Name of scope ${index + 1}`}
              required
              placeholder="orders:read"
              maxLength={64}
              {...form.getInputProps(`scopes.${index}.name`)}
            />
            <TextInput
              aria-label={`Description of scope ${index + 1}`}
              placeholder="Description"
              maxLength={256}
              {...form.getInputProps(`scopes.${index}.description`)}
            />
            <ActionIcon
              aria-label={`Remove scope ${index + 1}`}
              onClick={() => form.removeListItem('scopes', index)}
              disabled={scopes.length === 1}
              size="lg"
            >
              <Icon name="trash" />
            </ActionIcon>
          </div>
        ))}
        <Group>
          <IconButton
            variant="default"
            icon="plus"
            onClick={() => form.insertListItem('scopes', newScope())}
            disabled={scopes.length >= maxScopes}
          >
            Add a scope
          </IconButton>
        </Group>
      </Stack>
    </Fieldset>
  );
}
