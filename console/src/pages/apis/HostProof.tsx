import { Alert, Button, Group, List, Text } from '@mantine/core';
import type { Resource } from '../../api/generated.ts';
import { useAction } from '../../api/queries.ts';
import { operatorScope } from '../../app/page.ts';
import { useCan } from '../../app/session-context.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { CopyButton } from '../../components/CopyButton.tsx';
import { ErrorAlert } from '../../components/ErrorAlert.tsx';
import { Icon } from '../../components/Icon.tsx';
import { showDone } from '../../components/notices.tsx';
import { TenantText } from '../../components/TenantText.tsx';

/** A pending API: the text that its host publishes, where, and the button that looks for it. */
export function HostProof({ resource }: { readonly resource: Resource }) {
  const { resourceId, identifier, verification } = resource;
  const verify = useAction('verifyResource', {
    refreshes: ['/resources'],
    onSuccess: () => showDone('Host verified'),
  });
  const isOperator = useCan()(operatorScope);
  const { hostname, host } = new URL(identifier);
  const proof = `countersign-verification=${verification.token}`;
  const input = { params: { resourceId } };
  return (
    <Alert
      mb="md"
      color="yellow"
      role="note"
      icon={<Icon name="warning" />}
      title="Prove that you control the host"
    >
      <Text size="sm" component="div" maw="48rem">
        No token is issued for this API until its host publishes this text, in one of two places:
        <Group gap="xs" my="xs">
          <code>{proof}</code>
          <CopyButton text={proof} label="Copy text" size="compact-xs" />
        </Group>
        <List size="sm">
          <List.Item>
            a TXT record of <TenantText text={`_countersign.${hostname}`} multiline />
          </List.Item>
          <List.Item>
            the text at <TenantText text={`https://${host}/.well-known/countersign-verification`} multiline />
          </List.Item>
        </List>
      </Text>
      {verify.error && <ErrorAlert error={verify.error} mt="sm" />}
      <Group gap="xs" mt="sm">
        <Button onClick={() => verify.mutate({ ...input, body: {} })} loading={verify.isPending}>
          Verify host
        </Button>
        {isOperator && (
          <Button
            variant="default"
            onClick={() => verify.mutate({ ...input, body: { approve: true } })}
            disabled={verify.isPending}
          >
            Approve without proof
          </Button>
        )}
        <CopyAs operation="verifyResource" input={{ ...input, body: {} }} />
      </Group>
    </Alert>
  );
}
