import { Alert, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Approval } from '../../api/approvals.ts';
import { DetailsTable } from '../../components/DetailsTable.tsx';
import { durationText } from '../../components/duration-text.ts';
import { exactTime } from '../../components/exact-time.ts';
import { Facts } from '../../components/Facts.tsx';
import { Icon, type IconName } from '../../components/Icon.tsx';
import { PartyName } from '../../components/PartyName.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { ScopeList } from '../../components/ScopeList.tsx';
import { Section } from '../../components/Section.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { ApprovalSentence } from './ApprovalSentence.tsx';
import classes from './Approvals.module.css';

interface ApprovalContentProps {
  readonly approval: Approval;
  readonly agent: ReactNode;
  /** Who answers for the agent. */
  readonly owner?: string;
  /** Why the reader cannot decide. */
  readonly note?: ReactNode;
  /** The form that decides; without it the page only shows. */
  readonly children?: ReactNode;
}

/** One approval: its sentence, its state, the details of the action, the facts. */
export function ApprovalContent({ approval, agent, owner, note, children }: ApprovalContentProps) {
  const { authorizationDetails: details, status, scopes, accessExpiresIn } = approval;
  return (
    <Stack gap="md" className={classes.narrow ?? ''}>
      <Text component="p" m={0} className={classes.question ?? ''}>
        <ApprovalSentence approval={approval} agent={agent} />
      </Text>
      <Outcome approval={approval} />
      {note && (
        <Alert color="gray" icon={<Icon name="lock" />}>
          {note}
        </Alert>
      )}
      {details && details.length > 0 && (
        <Section
          title={details.length === 1 ? 'The action' : 'The actions'}
          description="Exactly this is approved, and the agent's token carries it."
        >
          <DetailsTable details={details} />
        </Section>
      )}
      {children}
      <Section title="Facts">
        <Facts
          facts={{
            Agent: agent,
            Owner: owner !== undefined && <TenantText text={owner} multiline />,
            API: (
              <>
                <TenantText text={approval.resource.name} multiline />{' '}
                <Text size="xs" c="dimmed" component="span">
                  <TenantText text={approval.resource.identifier} multiline />
                </Text>
              </>
            ),
            [status === 'approved' ? 'Granted scopes' : 'Scopes']: (
              <ScopeList scopes={scopes} max={50} none="none: the details say it all" />
            ),
            [status === 'approved' ? 'Access lasted or lasts' : 'Access for']: durationText(accessExpiresIn),
            Asked:
              approval.personId === null ? (
                'the approvers: the first decision counts'
              ) : (
                <PartyName type="person" id={approval.personId} link={false} />
              ),
            Requested: exactTime(approval.createdAt),
            [status === 'pending' ? 'Lapses' : 'Would have lapsed']: exactTime(approval.expiresAt),
            'Approval id': <code>{approval.approvalId}</code>,
          }}
        />
      </Section>
    </Stack>
  );
}

const outcomes: Readonly<
  Record<Approval['status'], { readonly color: string; readonly icon: IconName; readonly title: string }>
> = {
  pending: { color: 'yellow', icon: 'clock', title: 'Waiting for a decision' },
  approved: { color: 'green', icon: 'check', title: 'Approved' },
  denied: { color: 'red', icon: 'close', title: 'Denied' },
  expired: { color: 'gray', icon: 'clock', title: 'Lapsed: no decision in time' },
  canceled: { color: 'gray', icon: 'close', title: 'Canceled before a decision' },
};

function Outcome({ approval }: { readonly approval: Approval }) {
  const { status, decidedBy, decidedAt, expiresAt, approvals, requiredApprovals } = approval;
  const { color, icon, title } = outcomes[status];
  return (
    <Alert color={color} icon={<Icon name={icon} />} title={title} role="status">
      {status === 'pending' && (
        <div>
          It lapses <RelativeTime time={expiresAt} /> ({exactTime(expiresAt)}). Nothing is approved by
          waiting.
        </div>
      )}
      {status === 'pending' && requiredApprovals > 1 && (
        <div>
          Two different people must approve this.{' '}
          {approvals.length === 0
            ? 'No person has yet.'
            : approvals.map(({ personId, at }) => (
                <span key={personId}>
                  <PartyName type="person" id={personId} link={false} /> did <RelativeTime time={at} />.{' '}
                </span>
              ))}
        </div>
      )}
      {(status === 'approved' || status === 'denied') && (
        <div>
          By {decidedBy === null ? 'a person' : <PartyName type="person" id={decidedBy} link={false} />},{' '}
          <RelativeTime time={decidedAt} /> ({decidedAt !== null && exactTime(decidedAt)}).
        </div>
      )}
      {status === 'approved' && approvals.length > 1 && (
        <div>
          {approvals.map(({ personId, at }) => (
            <span key={personId}>
              <PartyName type="person" id={personId} link={false} /> approved <RelativeTime time={at} />.{' '}
            </span>
          ))}
        </div>
      )}
      {status === 'expired' && (
        <div>At {exactTime(expiresAt)}. Nothing was approved; the agent can ask again.</div>
      )}
      {status === 'canceled' && (
        <div>
          By the agent, by an admin, or with the agent's suspension
          {decidedAt !== null && `, at ${exactTime(decidedAt)}`}. Nothing was approved.
        </div>
      )}
    </Alert>
  );
}
