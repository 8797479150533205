import { Text } from '@mantine/core';
import { useState } from 'react';
import type { Agent, Credential } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { usePageSearch } from '../../../app/navigation.tsx';
import { useCan, useSession } from '../../../app/session-context.tsx';
import { ConfirmDialog } from '../../../components/ConfirmDialog.tsx';
import { CopyAs } from '../../../components/CopyAs.tsx';
import type { Column } from '../../../components/DataTable.tsx';
import { timeColumn } from '../../../components/DataTable.tsx';
import type { Filter } from '../../../components/FilterBar.tsx';
import { useLast } from '../../../components/frozen.ts';
import { IconButton } from '../../../components/IconButton.tsx';
import { ListPage } from '../../../components/ListPage.tsx';
import { offlineVerificationNote } from '../../../components/offline-verification.ts';
import { RelativeTime } from '../../../components/RelativeTime.tsx';
import { RowActions } from '../../../components/RowActions.tsx';
import { StatusBadge } from '../../../components/StatusBadge.tsx';
import { TenantText, visibleText } from '../../../components/TenantText.tsx';
import { agentPage } from '../page.ts';
import { CredentialDialog } from './CredentialDialog.tsx';
import { type CredentialUse, FirstToken } from './FirstToken.tsx';

const limit = 20;
const pollMilliseconds = 10_000;
const idStart = 8;

const filters: readonly Filter[] = [
  { kind: 'choice', name: 'credential', label: 'Status', options: ['active', 'revoked'] },
];

/** An active credential whose time has passed gets no tokens. */
const statusOf = ({ status, expiresAt }: Credential): string =>
  status === 'active' && expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? 'expired' : status;

/** Whether the agent got a token with one of its credentials. */
const credentialUseOf = (credentials: readonly Credential[]): CredentialUse =>
  credentials.some(({ lastUsedAt }) => lastUsedAt !== null)
    ? 'some'
    : credentials.some((one) => statusOf(one) === 'active')
      ? 'none'
      : 'unknown';

const nameOf = ({ name, credentialId }: Credential): string =>
  visibleText(name ?? credentialId.slice(0, idStart));

const columns: readonly Column<Credential>[] = [
  {
    header: 'Name',
    cell: ({ name, credentialId }) => (
      <div>
        <TenantText text={name} fallback="Unnamed" />
        <Text size="xs" c="dimmed">
          <code title={credentialId}>{credentialId.slice(0, idStart)}</code>
        </Text>
      </div>
    ),
  },
  { header: 'Status', width: '7rem', cell: (one) => <StatusBadge status={statusOf(one)} /> },
  timeColumn('Last used', ({ lastUsedAt }) => lastUsedAt),
  timeColumn('Expires', ({ expiresAt }) => expiresAt),
  timeColumn('Created', ({ createdAt }) => createdAt),
];

type Opened =
  | { readonly dialog: 'create' }
  | { readonly dialog: 'rotate' | 'revoke'; readonly credential: Credential };

export function CredentialsTab({ agent }: { readonly agent: Agent }) {
  const [{ credential: status, page }, setSearch] = usePageSearch(agentPage);
  const [opened, setOpened] = useState<Opened>();
  const can = useCan();
  const mayWrite = can('agents:write');
  const input = { params: { agentId: agent.agentId }, query: { status, page, limit } };
  const [isWaiting, setIsWaiting] = useState(false);
  const credentials = useApi('listCredentials', input, {
    keepPrevious: true,
    // Without events the use of a credential shows itself to those who ask.
    ...(isWaiting && !can('audit:read') && { refetchInterval: pollMilliseconds }),
  });
  const close = () => setOpened(undefined);
  const isActive = agent.status === 'active';
  const all = status === undefined && page === 1 ? (credentials.data?.data ?? []) : [];
  const use = isActive ? credentialUseOf(all) : 'unknown';
  if ((use === 'none') !== isWaiting) setIsWaiting(use === 'none');
  const hasNone = agent.publicClient || agent.clientUri !== null;
  const createButton = mayWrite && !hasNone && (
    <IconButton icon="plus" onClick={() => setOpened({ dialog: 'create' })} disabled={!isActive}>
      New credential
    </IconButton>
  );
  const actionColumn: Column<Credential> = {
    header: 'Actions',
    width: '11rem',
    cell: (one) =>
      one.status === 'active' && (
        <RowActions
          nameOf={(label) => `${label} ${nameOf(one)}`}
          actions={{
            Rotate: isActive && (() => setOpened({ dialog: 'rotate', credential: one })),
            Revoke: () => setOpened({ dialog: 'revoke', credential: one }),
          }}
        />
      ),
  };
  return (
    <>
      <FirstToken key={agent.agentId} agent={agent} use={use} />
      <ListPage
        withTitle={false}
        title="Credentials"
        actions={<CopyAs operation="listCredentials" input={input} />}
        create={createButton}
        noun="credentials"
        query={credentials}
        columns={mayWrite ? [...columns, actionColumn] : columns}
        rowId={({ credentialId }) => credentialId}
        search={{ credential: status }}
        onSearch={setSearch}
        filters={filters}
        empty={{
          icon: 'key',
          title: 'No credentials yet',
          text: hasNone
            ? 'A public client, and one that came by a metadata document, has none: it gets tokens after the consent of a person.'
            : isActive
              ? 'With a credential the agent gets tokens. Create one, and put its secret where the agent runs.'
              : 'Only an active agent can get a credential.',
        }}
      />
      {mayWrite && (
        <>
          <CredentialDialog agent={agent} opened={opened?.dialog === 'create'} onClose={close} />
          <RotateCredential agent={agent} opened={opened} onClose={close} />
          <RevokeCredential agent={agent} opened={opened} onClose={close} />
        </>
      )}
    </>
  );
}

interface OneCredentialProps {
  readonly agent: Agent;
  readonly opened: Opened | undefined;
  readonly onClose: () => void;
}

function RotateCredential({ agent, opened, onClose }: OneCredentialProps) {
  const rotated = useLast(opened?.dialog === 'rotate' ? opened.credential : undefined);
  if (!rotated) return null;
  return (
    <CredentialDialog
      agent={agent}
      rotated={rotated}
      opened={opened?.dialog === 'rotate'}
      onClose={onClose}
    />
  );
}

function RevokeCredential({ agent, opened, onClose }: OneCredentialProps) {
  const session = useSession();
  const revoked = useLast(opened?.dialog === 'revoke' ? opened.credential : undefined);
  if (!revoked) return null;
  const input = { params: { agentId: agent.agentId, credentialId: revoked.credentialId } };
  return (
    <ConfirmDialog
      opened={opened?.dialog === 'revoke'}
      onClose={onClose}
      title="Revoke this credential for good?"
      confirmLabel="Revoke credential"
      operation="revokeCredential"
      input={input}
      refreshes={['/agents', '/overview', '/audit']}
      doneMessage="Credential revoked."
    >
      The credential <b>{nameOf(revoked)}</b> gets no more tokens, and all tokens that were issued with it end
      at once for introspection. {offlineVerificationNote()} It was last used{' '}
      <RelativeTime time={revoked.lastUsedAt} />. This cannot be undone.
      {agent.agentId === session.agentId && (
        <Text size="sm" mt="xs" fw={600}>
          This is an agent of your own session. If you signed in with this credential, your session ends too.
        </Text>
      )}
    </ConfirmDialog>
  );
}
