import { Button, Group, List, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { startConnectionTest } from '../../../api/connection-tests.ts';
import type { Connection } from '../../../api/generated.ts';
import { useAction, useApi } from '../../../api/queries.ts';
import { ConditionList } from '../../../components/ConditionList.tsx';
import { ConfirmDialog } from '../../../components/ConfirmDialog.tsx';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { CopyButton } from '../../../components/CopyButton.tsx';
import { exactTime } from '../../../components/exact-time.ts';
import { Facts } from '../../../components/Facts.tsx';
import { useFrozen } from '../../../components/frozen.ts';
import { IconButton } from '../../../components/IconButton.tsx';
import { showDone, showError } from '../../../components/notices.tsx';
import { QueryState } from '../../../components/QueryState.tsx';
import { StatusBadge } from '../../../components/StatusBadge.tsx';
import { TenantText } from '../../../components/TenantText.tsx';
import { ConnectionDialog } from './ConnectionDialog.tsx';
import { redirectUri, signInAddress } from './connection-values.ts';

interface ConnectionDetailProps {
  readonly organizationId: string;
  readonly connectionId: string;
  readonly onGone: () => void;
}

export function ConnectionDetail({ organizationId, connectionId, onGone }: ConnectionDetailProps) {
  const query = useApi('getConnection', { params: { orgId: organizationId, connectionId } });
  return (
    <QueryState query={query} label="Loading the connection" errorTitle="This connection could not be loaded">
      {(connection) => (
        <Stack gap="sm">
          <ConnectionFacts connection={connection} />
          <Actions connection={connection} onGone={onGone} />
        </Stack>
      )}
    </QueryState>
  );
}

function ConnectionFacts({ connection }: { readonly connection: Connection }) {
  return (
    <Facts
      facts={{
        Status: <StatusBadge status={connection.status} />,
        Issuer: <TenantText text={connection.issuer} multiline />,
        'Client id': <TenantText text={connection.clientId} multiline />,
        Scopes: <TenantText text={connection.scopes.join(' ')} multiline />,
        Conditions:
          connection.conditions.length === 0 ? (
            'none: everybody who can sign in at the provider becomes a member'
          ) : (
            <ConditionList conditions={connection.conditions} />
          ),
        'Identity assertions': connection.idJag
          ? 'accepted: the provider can vouch for a person without a browser (ID-JAG)'
          : 'refused: people sign in in a browser',
        'Redirect URI': <Copyable text={redirectUri(location.origin)} label="Copy redirect URI" />,
        'People sign in at': (
          <Copyable
            text={signInAddress(location.origin, connection.connectionId)}
            label="Copy sign-in address"
          />
        ),
        Changed: <time dateTime={connection.updatedAt}>{exactTime(connection.updatedAt)}</time>,
        'Connection id': <code>{connection.connectionId}</code>,
      }}
    />
  );
}

const Copyable = ({ text, label }: { readonly text: string; readonly label: string }) => (
  <Stack gap={4} align="flex-start">
    <code style={{ overflowWrap: 'anywhere' }}>{text}</code>
    <CopyButton text={text} label={label} size="compact-xs" />
  </Stack>
);

interface ActionsProps {
  readonly connection: Connection;
  readonly onGone: () => void;
}

function Actions({ connection, onGone }: ActionsProps) {
  const { organizationId, connectionId, name, status } = connection;
  const [dialog, setDialog] = useState<'edit' | 'disable' | 'delete'>();
  const [testing, setTesting] = useState(false);
  const edited = useFrozen(connection, dialog);
  const close = () => setDialog(undefined);
  const change = useAction('updateConnection', { refreshes: ['/organizations'] });
  const params = { orgId: organizationId, connectionId };
  const enabling = { params, body: { status: 'active' } } as const;
  const isActive = status === 'active';
  const test = async () => {
    setTesting(true);
    try {
      location.assign(await startConnectionTest(connectionId));
    } catch (error) {
      setTesting(false);
      showError(error);
    }
  };
  return (
    <>
      <Group gap="xs">
        <IconButton icon="check" loading={testing} onClick={() => void test()}>
          Test
        </IconButton>
        <IconButton variant="default" icon="edit" onClick={() => setDialog('edit')}>
          Edit
        </IconButton>
        <Button
          variant="default"
          loading={change.isPending}
          onClick={() =>
            isActive
              ? setDialog('disable')
              : void change.mutateAsync(enabling).then(() => showDone('Connection enabled.'), showError)
          }
        >
          {isActive ? 'Disable' : 'Enable'}
        </Button>
        <IconButton variant="default" icon="trash" onClick={() => setDialog('delete')}>
          Delete
        </IconButton>
        <CopyAs operation="getConnection" input={{ params }} />
      </Group>
      <Text size="sm" c="dimmed">
        The test signs you in at the provider, and shows the claims and which conditions hold. It creates no
        person and changes nothing.
      </Text>
      <ConnectionDialog
        key={edited.updatedAt}
        organizationId={organizationId}
        connection={edited}
        opened={dialog === 'edit'}
        onClose={close}
      />
      <ConfirmDialog
        opened={dialog === 'disable'}
        onClose={close}
        title="Disable this connection?"
        confirmLabel="Disable connection"
        operation="updateConnection"
        input={{ params, body: { status: 'disabled' } }}
        refreshes={['/organizations']}
        doneMessage="Connection disabled."
      >
        <Ends name={name} until=" until you enable it again" />
      </ConfirmDialog>
      <ConfirmDialog
        opened={dialog === 'delete'}
        onClose={close}
        title="Delete this connection?"
        confirmLabel="Delete connection"
        operation="deleteConnection"
        input={{ params }}
        refreshes={['/organizations']}
        doneMessage="Connection deleted."
        onDone={onGone}
      >
        <Ends name={name} until="">
          <List.Item>Invitations by e-mail that wait for a sign-in through it are deleted.</List.Item>
          <List.Item>Its client secret and its conditions are gone.</List.Item>
        </Ends>
      </ConfirmDialog>
    </>
  );
}

interface EndsProps {
  readonly name: string;
  readonly until: string;
  readonly children?: React.ReactNode;
}

/** What ends with a connection, and what does not. */
const Ends = ({ name, until, children }: EndsProps) => (
  <>
    At once:
    <List size="sm" mt="xs" spacing={4}>
      <List.Item>
        No person signs in through <TenantText text={name} />
        {until}, and the sessions that began through it end.
      </List.Item>
      {children}
      <List.Item>
        People stay, and agents go on acting for them. To end that, suspend or remove the people.
      </List.Item>
    </List>
  </>
);
