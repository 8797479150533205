import { Button, Text } from '@mantine/core';
import { useState } from 'react';
import { toApiError } from '../../api/api-error.ts';

/** Ends the session of this browser, for another person. */
export function SwitchPerson({ onSwitch }: { readonly onSwitch: () => Promise<void> }) {
  const [error, setError] = useState<unknown>();
  return (
    <>
      <Button
        variant="subtle"
        size="compact-sm"
        onClick={() => {
          setError(undefined);
          onSwitch().catch(setError);
        }}
      >
        Sign in as another person
      </Button>
      {error !== undefined && (
        <Text size="sm" c="var(--mantine-color-error)" role="alert">
          {toApiError(error).message}
        </Text>
      )}
    </>
  );
}
