import { Checkbox, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { type Scope, scopeDescriptions } from '../../../api/generated.ts';
import { scopeNames } from './agent-form.ts';

interface ScopeChecksProps {
  readonly value: string[];
  readonly onChange: (scopes: string[]) => void;
  readonly grantable: readonly Scope[];
  readonly error?: ReactNode;
}

/** Checkboxes for the scopes of this server's API that the session can give. Others appear only if the agent holds them. */
export function ScopeChecks({ value, onChange, grantable, error }: ScopeChecksProps) {
  const shown = scopeNames.filter((scope) => grantable.includes(scope) || value.includes(scope));
  return (
    <Checkbox.Group
      label="Scopes of this server's API"
      description="Choose only what the agent needs here. Scopes of your own APIs are granted on its tab Access."
      value={value}
      onChange={onChange}
      error={error}
    >
      <Stack gap="xs" mt="xs">
        {shown.map((scope) => (
          <Checkbox
            key={scope}
            value={scope}
            label={scope}
            description={scopeDescriptions[scope]}
            disabled={!grantable.includes(scope)}
          />
        ))}
        {shown.length === 0 && <Text size="sm">Your session holds no scope that it could give.</Text>}
      </Stack>
    </Checkbox.Group>
  );
}
