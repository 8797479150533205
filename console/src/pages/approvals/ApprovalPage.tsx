import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import { toApiError } from '../../api/api-error.ts';
import { useOwnApproval } from '../../api/own-approvals.ts';
import { useApi } from '../../api/queries.ts';
import { PageLink, usePathParam } from '../../app/navigation.tsx';
import { isAdmin } from '../../app/page.ts';
import { useCan, useSession } from '../../app/session-context.tsx';
import { AgentName } from '../../components/AgentName.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { CopyButton } from '../../components/CopyButton.tsx';
import { EmptyState } from '../../components/EmptyState.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { QueryState } from '../../components/QueryState.tsx';
import { ApprovalContent } from './ApprovalContent.tsx';
import { CancelApproval } from './CancelApproval.tsx';
import { DecisionForm } from './DecisionForm.tsx';
import { OnlyPeople } from './OnlyPeople.tsx';

const back = { to: '/approvals', label: 'All approvals' };

/** The page that decides. Someone whom it does not address sees it with audit:read, and can only read it. */
export function ApprovalPage() {
  const approvalId = usePathParam('approvalId');
  const { person } = useSession();
  const mayReadAll = useCan()('audit:read');
  const own = useOwnApproval(approvalId, { enabled: person !== null });
  const isNotOwn = person === null || isMissing(own.error);
  if (!isNotOwn)
    return (
      <>
        <PageTitle title="Approval" back={back} actions={<CommandButton approvalId={approvalId} />} />
        <QueryState query={own} label="Loading the approval">
          {(approval) => <DecisionForm key={approvalId} approval={approval} />}
        </QueryState>
      </>
    );
  if (mayReadAll) return <ReadOnly key={approvalId} approvalId={approvalId} />;
  return (
    <>
      <PageTitle title="Approval" back={back} />
      {person === null ? <OnlyPeople /> : <NotFound />}
    </>
  );
}

const isMissing = (error: Error | null): boolean =>
  error !== null && [400, 404].includes(toApiError(error).status);

/** For a person who has signed in with the command line. */
const CommandButton = ({ approvalId }: { readonly approvalId: string }) => (
  <CopyButton text={`countersign approvals show ${approvalId}`} label="Copy as command" />
);

const NotFound = () => (
  <EmptyState
    icon="approvals"
    title="There is no such approval for you"
    text="It does not exist, or it is addressed to another person. Check the address, or sign in as the person who was asked."
    action={
      <Button component={PageLink} to="/approvals" variant="default">
        Show what waits for you
      </Button>
    }
  />
);

function ReadOnly({ approvalId }: { readonly approvalId: string }) {
  const input = { params: { approvalId } };
  const query = useApi('getApproval', input);
  const [canceling, setCanceling] = useState(false);
  const session = useSession();
  const mayCancel = isAdmin(session) && query.data?.status === 'pending';
  return (
    <>
      <PageTitle
        title="Approval"
        back={{ ...back, search: { tab: 'organization' } }}
        actions={
          <Group gap="xs">
            <CopyAs operation="getApproval" input={input} />
            {mayCancel && (
              <IconButton variant="default" icon="close" onClick={() => setCanceling(true)}>
                Cancel request
              </IconButton>
            )}
          </Group>
        }
      />
      {isMissing(query.error) ? (
        <NotFound />
      ) : (
        <QueryState query={query} label="Loading the approval">
          {(approval) => (
            <ApprovalContent
              approval={approval}
              agent={<AgentName agentId={approval.agentId} />}
              note={
                approval.status === 'pending' &&
                (session.person === null
                  ? 'Only a person decides, and this session acts as an agent.'
                  : 'It is addressed to other people: you can read it, but not decide.')
              }
            />
          )}
        </QueryState>
      )}
      <CancelApproval approval={canceling ? query.data : undefined} onClose={() => setCanceling(false)} />
    </>
  );
}
