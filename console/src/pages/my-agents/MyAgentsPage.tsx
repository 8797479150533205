import { SegmentedControl, Stack, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import { type Consent, useConsentRevocation, useConsents } from '../../api/own-delegations.ts';
import { usePageSearch } from '../../app/navigation.tsx';
import { ConfirmModal } from '../../components/ConfirmModal.tsx';
import { type Column, timeColumn } from '../../components/DataTable.tsx';
import type { EmptyStateProps } from '../../components/EmptyState.tsx';
import { useFrozen } from '../../components/frozen.ts';
import { ListPage } from '../../components/ListPage.tsx';
import { offlineVerificationNote } from '../../components/offline-verification.ts';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { RowActions } from '../../components/RowActions.tsx';
import { ScopeList } from '../../components/ScopeList.tsx';
import { TenantText, visibleText } from '../../components/TenantText.tsx';
import { hostOf, nameOf } from './consent-words.ts';
import { consentStatuses, myAgentsPage } from './page.ts';

const limit = 20;

const empty: Readonly<Record<(typeof consentStatuses)[number], EmptyStateProps>> = {
  active: {
    icon: 'account',
    title: 'No agent acts for you',
    text: 'When an application asks for access in your name and you allow it, it appears here, and you can end it here.',
  },
  expired: { icon: 'clock', title: 'Nothing has expired' },
  revoked: { icon: 'close', title: 'Nothing was revoked' },
};

const columns: readonly Column<Consent>[] = [
  { header: 'Agent', cell: (consent) => <AgentCell consent={consent} />, width: '20%' },
  { header: 'API', cell: (consent) => <ApiCell consent={consent} />, width: '20%' },
  { header: 'May do', cell: (consent) => <ScopesCell consent={consent} /> },
  timeColumn('Since', ({ createdAt }) => createdAt, { width: '7.5rem' }),
  timeColumn('Last used', ({ lastUsedAt }) => lastUsedAt, { width: '7.5rem' }),
];

/** The agents that act for the person who has signed in. */
export function MyAgentsPage() {
  const [search, setSearch] = usePageSearch(myAgentsPage);
  const { status, page } = search;
  const [revoking, setRevoking] = useState<string>();
  const consents = useConsents({ status, page, limit });
  const revoked = useFrozen(
    consents.data?.data.find(({ chainId }) => chainId === revoking),
    revoking,
  );
  const shown = useMemo<readonly Column<Consent>[]>(
    () => [
      ...columns,
      {
        header: status === 'active' ? 'Until' : 'Ended',
        width: '7.5rem',
        cell: ({ revokedAt, expiresAt }) => <RelativeTime time={revokedAt ?? expiresAt} />,
      },
      ...(status === 'active'
        ? [
            {
              header: 'Actions',
              width: '6rem',
              cell: (consent: Consent) => (
                <RowActions
                  of={visibleText(nameOf(consent))}
                  actions={{ Revoke: () => setRevoking(consent.chainId) }}
                />
              ),
            },
          ]
        : []),
    ],
    [status],
  );
  return (
    <>
      <ListPage
        title="My agents"
        description="Which agents act for you, where, and until when. Revoking ends it at once."
        noun="agents"
        query={consents}
        columns={shown}
        rowId={({ chainId }) => chainId}
        search={search}
        onSearch={setSearch}
        empty={empty[status]}
      >
        <SegmentedControl
          size="xs"
          mb="sm"
          aria-label="Status"
          value={status}
          onChange={(next) =>
            setSearch({ status: consentStatuses.find((one) => one === next) ?? 'active', page: 1 })
          }
          data={[
            { value: 'active', label: 'Acting now' },
            { value: 'expired', label: 'Expired' },
            { value: 'revoked', label: 'Revoked' },
          ]}
        />
      </ListPage>
      <RevokeConsent consent={revoked} onClose={() => setRevoking(undefined)} />
    </>
  );
}

interface RevokeConsentProps {
  readonly consent: Consent | undefined;
  readonly onClose: () => void;
}

function RevokeConsent({ consent, onClose }: RevokeConsentProps) {
  const revocation = useConsentRevocation();
  return (
    <ConfirmModal
      opened={consent !== undefined}
      onClose={onClose}
      title="Revoke this access?"
      confirmLabel="Revoke access"
      doneMessage="Access revoked."
      action={revocation}
      send={() => revocation.mutateAsync(consent?.chainId ?? '')}
    >
      {consent && (
        <Stack gap="xs">
          <Text size="sm" component="div">
            <TenantText text={nameOf(consent)} /> no longer acts for you at{' '}
            <TenantText text={consent.resourceName ?? 'Countersign API'} />. Its access tokens end at once for
            introspection, it gets no new ones, and so it is for every agent to which it has passed this on.
          </Text>
          <Text size="sm">
            {offlineVerificationNote()} This cannot be undone: to go on, the application has to ask you again.
          </Text>
        </Stack>
      )}
    </ConfirmModal>
  );
}

function AgentCell({ consent }: { readonly consent: Consent }) {
  const host = hostOf(consent.clientUri);
  return (
    <Stack gap={0} maw="100%">
      <TenantText text={nameOf(consent)} />
      {host !== undefined && (
        <Text size="xs" c="dimmed" component="div">
          <TenantText text={host} />
        </Text>
      )}
    </Stack>
  );
}

function ApiCell({ consent: { resource, resourceName } }: { readonly consent: Consent }) {
  return (
    <Stack gap={0} maw="100%">
      <TenantText text={resourceName ?? 'Countersign API'} />
      {resource && (
        <Text size="xs" c="dimmed" component="div">
          <TenantText text={resource.join(', ')} />
        </Text>
      )}
    </Stack>
  );
}

function ScopesCell({ consent }: { readonly consent: Consent }) {
  const { status, scopes, effectiveScopes, allowRedelegation } = consent;
  const isActive = status === 'active';
  return (
    <Stack gap={2}>
      <ScopeList
        scopes={isActive ? effectiveScopes : scopes}
        max={6}
        none="nothing now: you may not lend it any more"
      />
      {isActive && allowRedelegation && (
        <Text size="xs" c="dimmed">
          may pass it on to other agents
        </Text>
      )}
    </Stack>
  );
}
