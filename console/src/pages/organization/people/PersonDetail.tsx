import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { DelegationChain, Person } from '../../../api/generated.ts';
import { useAction, useApi } from '../../../api/queries.ts';
import { useCan, useSession } from '../../../app/session-context.tsx';
import { AgentName } from '../../../components/AgentName.tsx';
import { ConfirmDialog } from '../../../components/ConfirmDialog.tsx';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { Facts } from '../../../components/Facts.tsx';
import { useFrozen } from '../../../components/frozen.ts';
import { IconButton } from '../../../components/IconButton.tsx';
import { NoPermission } from '../../../components/NoPermission.tsx';
import { showDone, showError } from '../../../components/notices.tsx';
import { QueryState } from '../../../components/QueryState.tsx';
import { RelativeTime } from '../../../components/RelativeTime.tsx';
import { RevokeDelegation } from '../../../components/RevokeDelegation.tsx';
import { roleWord } from '../../../components/role-words.ts';
import { ScopeList } from '../../../components/ScopeList.tsx';
import { StatusBadge } from '../../../components/StatusBadge.tsx';
import { TenantText } from '../../../components/TenantText.tsx';

interface PersonDetailProps {
  readonly organizationId: string;
  readonly personId: string;
  /** Absent when the person is on another page of the list. */
  readonly person: Person | undefined;
  readonly connectionName: string | undefined;
}

/** One person: the identity, and the agents that act for the person. */
export function PersonDetail({ organizationId, personId, person, connectionName }: PersonDetailProps) {
  return (
    <Stack gap="sm">
      {person && (
        <>
          <Facts
            facts={{
              Status: <StatusBadge status={person.status} />,
              Role: roleWord(person.role),
              'E-mail': <TenantText text={person.email} multiline />,
              Connection: <TenantText text={connectionName} fallback="none" />,
              Issuer: <TenantText text={person.issuer} multiline fallback="known after the first sign-in" />,
              Subject: (
                <TenantText text={person.subject} multiline fallback="known after the first sign-in" />
              ),
              'Acts through': person.agentId !== null && <AgentName agentId={person.agentId} />,
              'Last sign-in': <RelativeTime time={person.lastSignInAt} />,
              'Person id': <code>{personId}</code>,
            }}
          />
          <StatusAction person={person} />
        </>
      )}
      <Chains organizationId={organizationId} personId={personId} />
    </Stack>
  );
}

function StatusAction({ person }: { readonly person: Person }) {
  const { organizationId, personId, status } = person;
  const { person: own } = useSession();
  const [suspending, setSuspending] = useState(false);
  const change = useAction('updatePerson', { refreshes: ['/organizations'] });
  const inputOf = (next: Person['status']) => ({
    params: { orgId: organizationId, personId },
    body: { status: next },
  });
  const activate = () =>
    change.mutateAsync(inputOf('active')).then(() => showDone('Person activated.'), showError);
  return (
    <Group gap="xs">
      {status === 'active' ? (
        <Button variant="default" onClick={() => setSuspending(true)}>
          Suspend
        </Button>
      ) : (
        <>
          <Button variant="default" loading={change.isPending} onClick={() => void activate()}>
            Activate
          </Button>
          <CopyAs operation="updatePerson" input={inputOf('active')} label="activation" />
        </>
      )}
      <ConfirmDialog
        opened={suspending}
        onClose={() => setSuspending(false)}
        title="Suspend this person?"
        confirmLabel="Suspend person"
        operation="updatePerson"
        input={inputOf('suspended')}
        refreshes={['/organizations', '/delegations']}
        doneMessage="Person suspended."
      >
        <TenantText text={person.name} /> cannot sign in until you activate the person again. Open sessions
        end at once. What the person has allowed to agents ends for good: they have to ask again after an
        activation.
        {own?.personId === personId && ' This is you: you will be signed out.'}
      </ConfirmDialog>
    </Group>
  );
}

const shown = 50;

/** The active chains that begin with the person. */
function Chains({ organizationId, personId }: Pick<PersonDetailProps, 'organizationId' | 'personId'>) {
  const mayRead = useCan()('audit:read');
  const [ending, setEnding] = useState<string>();
  const input = { query: { organizationId, personId, status: 'active', limit: shown } } as const;
  const chains = useApi('listDelegations', input, { enabled: mayRead });
  const ended = useFrozen(
    chains.data?.data.find(({ chainId }) => chainId === ending),
    ending,
  );
  return (
    <section aria-label="Agents that act for this person">
      <Group justify="space-between" mb="xs">
        <Text component="h3" fw={600}>
          Agents that act for this person
        </Text>
        <CopyAs operation="listDelegations" input={input} />
      </Group>
      {!mayRead ? (
        <NoPermission scope="audit:read" />
      ) : (
        <QueryState query={chains} label="Loading the agents of the person" rows={2}>
          {({ data, total }) => (
            <Stack gap="xs">
              {data.length === 0 && (
                <Text size="sm" c="dimmed">
                  None.
                </Text>
              )}
              {data.map((chain) => (
                <Chain key={chain.chainId} chain={chain} onEnd={() => setEnding(chain.chainId)} />
              ))}
              {total > data.length && (
                <Text size="sm" c="dimmed">
                  and {(total - data.length).toLocaleString('en')} more
                </Text>
              )}
            </Stack>
          )}
        </QueryState>
      )}
      {ended && (
        <RevokeDelegation
          chainId={ended.chainId}
          link={ended}
          opened={ending !== undefined}
          onClose={() => setEnding(undefined)}
        />
      )}
    </section>
  );
}

function Chain({ chain, onEnd }: { readonly chain: DelegationChain; readonly onEnd: () => void }) {
  return (
    <Paper p="xs" component="article">
      <Facts
        facts={{
          Agent: <AgentName agentId={chain.delegateeId} />,
          API: <TenantText text={chain.resource?.join(', ') ?? 'Countersign API'} multiline />,
          Scopes: <ScopeList scopes={chain.scopes} />,
          Since: <RelativeTime time={chain.createdAt} />,
          Until: <RelativeTime time={chain.expiresAt} />,
        }}
      />
      <Group mt="xs">
        <IconButton variant="default" size="compact-xs" icon="close" onClick={onEnd}>
          End it
        </IconButton>
      </Group>
    </Paper>
  );
}
