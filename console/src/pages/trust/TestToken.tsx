import { Alert, Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import type { TrustTest } from '../../api/generated.ts';
import { useAction } from '../../api/queries.ts';
import { CheckTable } from '../../components/CheckTable.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { ErrorAlert } from '../../components/ErrorAlert.tsx';
import { Icon } from '../../components/Icon.tsx';
import { JsonView } from '../../components/JsonView.tsx';
import { visibleText } from '../../components/TenantText.tsx';

/** Tries a token of the other platform against the policy, condition by condition. Nothing is issued. */
export function TestToken({ policyId }: { readonly policyId: string }) {
  const [token, setToken] = useState('');
  const test = useAction('testTrustPolicy');
  const send = () => test.mutate({ params: { policyId }, body: { token: token.trim() } });
  return (
    <section aria-label="Test a token">
      <Text component="h3" fw={600} mb={4}>
        Test a token
      </Text>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim() !== '') send();
        }}
      >
        <Stack gap="xs">
          <Textarea
            label="Token of the other platform"
            description="A JWT. The test issues nothing and does not use the token up."
            autoComplete="off"
            spellCheck={false}
            minRows={3}
            maxRows={6}
            value={token}
            onChange={(event) => setToken(event.currentTarget.value)}
          />
          <Group gap="xs">
            <Button type="submit" loading={test.isPending} disabled={token.trim() === ''}>
              Test token
            </Button>
            <CopyAs
              operation="testTrustPolicy"
              input={{ params: { policyId }, body: { token: token.trim() } }}
            />
          </Group>
        </Stack>
      </form>
      {test.error && <ErrorAlert error={test.error} mt="sm" title="The test did not work" />}
      {test.data && <Result result={test.data} />}
    </section>
  );
}

function Result({ result: { matched, checks, claims, resources } }: { readonly result: TrustTest }) {
  const failed = checks.filter(({ ok }) => !ok).length;
  return (
    <Stack gap="sm" mt="sm">
      <Alert
        role="status"
        color={matched ? 'green' : 'red'}
        icon={<Icon name={matched ? 'check' : 'warning'} />}
        title={matched ? 'The token matches' : 'The token does not match'}
      >
        {matched
          ? 'A workload with this token becomes the agent.'
          : `${failed} of ${checks.length} checks failed.`}
      </Alert>
      <CheckTable checks={checks} />
      {resources && resources.length > 0 && (
        <Text size="sm">
          It can get tokens for{' '}
          {resources
            .map(({ identifier, scopes }) => visibleText(`${identifier} (${scopes.join(' ')})`))
            .join(', ')}
          .
        </Text>
      )}
      <JsonView value={claims} label="Claims of the token" maxHeight={260} />
    </Stack>
  );
}
