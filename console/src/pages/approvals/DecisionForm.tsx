import { Alert, Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { type ApiError, toApiError } from '../../api/api-error.ts';
import type { OwnApproval } from '../../api/approvals.ts';
import { useDecision } from '../../api/own-approvals.ts';
import { PageLink } from '../../app/navigation.tsx';
import { useSession } from '../../app/session-context.tsx';
import { ConfirmModal } from '../../components/ConfirmModal.tsx';
import { durationText } from '../../components/duration-text.ts';
import { RequestId } from '../../components/ErrorAlert.tsx';
import { Icon } from '../../components/Icon.tsx';
import { Section } from '../../components/Section.tsx';
import { visibleText } from '../../components/TenantText.tsx';
import { ApprovalContent } from './ApprovalContent.tsx';
import { ApprovalSentence } from './ApprovalSentence.tsx';
import classes from './Approvals.module.css';
import { approvalOf, type Choice, chosenOf, firstChoice } from './approval-words.ts';
import { ChoiceFields } from './ChoiceFields.tsx';

/** What a decision met: another person was faster, or the person may not decide this. */
type Setback = { readonly kind: 'late' } | { readonly kind: 'refused'; readonly problem: ApiError };

/** An approval for the person to whom it is addressed. While it waits, with the choice and the two buttons. */
export function DecisionForm({ approval }: { readonly approval: OwnApproval }) {
  const { person } = useSession();
  const [choice, setChoice] = useState<Choice>(() => firstChoice(approval));
  const [asking, setAsking] = useState<'approve' | 'deny'>();
  const [setback, setSetback] = useState<Setback>();
  const decision = useDecision(approval.approvalId);
  const wanted = approvalOf(approval, choice);
  const chosen = chosenOf(approval, choice);
  const agent = <bdi>{visibleText(approval.agentName)}</bdi>;
  const isPending = approval.status === 'pending';
  const hasApproved = approval.approvals.some(({ personId }) => personId === person?.personId);

  const send = async () => {
    setSetback(undefined);
    try {
      await decision.mutateAsync(asking === 'approve' && wanted ? wanted : { decision: 'deny' });
    } catch (failure) {
      const problem = toApiError(failure);
      // The page says it: the dialog would hide the newest state.
      if (problem.status === 409) setSetback({ kind: 'late' });
      else if (problem.status === 403) setSetback({ kind: 'refused', problem });
      if ([403, 409].includes(problem.status)) {
        decision.reset();
        setAsking(undefined);
      }
      throw failure;
    }
  };

  return (
    <>
      <ApprovalContent approval={approval} agent={agent} owner={approval.agentOwner}>
        {setback && <SetbackAlert setback={setback} />}
        {isPending && hasApproved && (
          <Alert color="gray" icon={<Icon name="clock" />} title="You have approved this">
            It waits for a second person. There is nothing more for you to do, unless you have changed your
            mind.
            <Group mt="xs">
              <DenyButton onClick={() => setAsking('deny')} />
            </Group>
          </Alert>
        )}
        {isPending && !hasApproved && (
          <Section
            title="Your decision"
            description="You can allow less than was asked for, and for a shorter time."
          >
            <Stack gap="md">
              <ChoiceFields approval={approval} choice={choice} onChange={setChoice} />
              <Group>
                <Button
                  size="sm"
                  disabled={!wanted}
                  leftSection={<Icon name="check" />}
                  onClick={() => setAsking('approve')}
                >
                  Approve
                </Button>
                <DenyButton onClick={() => setAsking('deny')} />
              </Group>
            </Stack>
          </Section>
        )}
        {approval.status === 'approved' && (
          <Text size="sm">
            It is a delegation of the person who approved. To end it early, revoke it under{' '}
            <Anchor component={PageLink} to="/my-agents" inherit>
              My agents
            </Anchor>
            .
          </Text>
        )}
      </ApprovalContent>
      <ConfirmModal
        opened={isPending && asking === 'approve'}
        onClose={() => setAsking(undefined)}
        title="Approve this?"
        confirmLabel="Approve"
        confirmColor="seal"
        doneMessage={
          approval.requiredApprovals - approval.approvals.length > 1 ? 'Your approval counts.' : 'Approved.'
        }
        action={decision}
        send={send}
      >
        {wanted && (
          <Stack gap="xs">
            <div>
              {agent} may act for you at{' '}
              <bdi className={classes.text}>{visibleText(approval.resource.name)}</bdi> for{' '}
              {durationText(Number(choice.accessExpiresIn))}
              {chosen.length > 0 && (
                <>
                  {' '}
                  with <bdi className={classes.wanted}>{visibleText(chosen.join(', '))}</bdi>
                </>
              )}
              {approval.authorizationDetails && approval.authorizationDetails.length > 0
                ? ', for exactly the action that the page shows'
                : ''}
              {wanted.allowRedelegation ? ', and may pass it on to other agents' : ''}.
            </div>
            <div>It counts from now. You can end it earlier under My agents.</div>
          </Stack>
        )}
      </ConfirmModal>
      <ConfirmModal
        opened={isPending && asking === 'deny'}
        onClose={() => setAsking(undefined)}
        title="Deny this?"
        confirmLabel="Deny"
        doneMessage="Denied."
        action={decision}
        send={send}
      >
        <Stack gap="xs">
          <ApprovalSentence approval={approval} agent={agent} />
          <div>
            The agent learns that it was denied.
            {approval.requestedFor === 'approvers' && ' No other person can approve this request afterwards.'}
          </div>
        </Stack>
      </ConfirmModal>
    </>
  );
}

const DenyButton = ({ onClick }: { readonly onClick: () => void }) => (
  <Button size="sm" variant="default" leftSection={<Icon name="close" />} onClick={onClick}>
    Deny
  </Button>
);

function SetbackAlert({ setback }: { readonly setback: Setback }) {
  if (setback.kind === 'late')
    return (
      <Alert color="yellow" role="alert" icon={<Icon name="warning" />} title="Your decision came too late">
        It was decided, canceled or had lapsed before. The page shows its newest state; what you chose does
        not count.
      </Alert>
    );
  const { problem } = setback;
  return (
    <Alert color="red" role="alert" icon={<Icon name="lock" />} title="You may not decide this">
      {problem.message}
      <RequestId id={problem.requestId} />
    </Alert>
  );
}
