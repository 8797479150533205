import type { ReactNode } from 'react';
import type { Approval } from '../../api/approvals.ts';
import { durationText } from '../../components/duration-text.ts';
import { visibleText } from '../../components/TenantText.tsx';
import classes from './Approvals.module.css';
import { wantedOf } from './approval-words.ts';

interface ApprovalSentenceProps {
  readonly approval: Pick<
    Approval,
    'scopes' | 'authorizationDetails' | 'resource' | 'accessExpiresIn' | 'bindingMessage' | 'status'
  >;
  readonly agent: ReactNode;
}

/** The scopes and the time of an approved one are the granted ones. */
const verbOf = (status: Approval['status']): string =>
  status === 'pending' ? 'asks for' : status === 'approved' ? 'got' : 'asked for';

/** Who asks for what, for how long, and why. */
export function ApprovalSentence({ approval, agent }: ApprovalSentenceProps) {
  const { resource, accessExpiresIn, bindingMessage } = approval;
  return (
    <span className={classes.sentence}>
      {agent} {verbOf(approval.status)}{' '}
      <bdi className={classes.wanted}>{visibleText(wantedOf(approval))}</bdi> at{' '}
      <bdi>{visibleText(resource.name)}</bdi> for {durationText(accessExpiresIn)}
      {bindingMessage === null ? (
        ', without a message.'
      ) : (
        <>
          : “<bdi>{visibleText(bindingMessage)}</bdi>”
        </>
      )}
    </span>
  );
}
