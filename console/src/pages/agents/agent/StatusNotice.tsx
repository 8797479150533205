import { Alert, List } from '@mantine/core';
import type { Agent } from '../../../api/generated.ts';
import { Icon } from '../../../components/Icon.tsx';

/** For an agent that is not active: the reason why it gets no tokens, and the actions that are left. */
export function StatusNotice({ status }: Pick<Agent, 'status'>) {
  if (status === 'active') return null;
  return status === 'suspended' ? (
    <Alert color="yellow" icon={<Icon name="warning" />} title="This agent is suspended: it gets no tokens">
      Still possible:
      <List size="sm" spacing={2} mt={4}>
        <List.Item>Edit its fields, and grant or remove scopes: they count after a reactivation.</List.Item>
        <List.Item>Revoke credentials. New credentials need an active agent.</List.Item>
        <List.Item>Reactivate it, or decommission it for good.</List.Item>
      </List>
    </Alert>
  ) : (
    <Alert color="gray" icon={<Icon name="lock" />} title="This agent is decommissioned for good">
      It gets no tokens, and nothing about it can change. Its credentials are revoked and its DID is
      deactivated. You can still read its fields and its activity, and remove its grants.
    </Alert>
  );
}
