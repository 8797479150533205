import type { Approval } from '../../api/approvals.ts';
import { AgentName } from '../../components/AgentName.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { ApprovalSentence } from './ApprovalSentence.tsx';

interface CancelApprovalProps {
  /** Undefined: the dialog is closed. */
  readonly approval: Approval | undefined;
  readonly onClose: () => void;
}

/** An admin takes a request away before it is decided. */
export const CancelApproval = ({ approval, onClose }: CancelApprovalProps) => (
  <ConfirmDialog
    opened={approval !== undefined}
    onClose={onClose}
    title="Cancel this request?"
    confirmLabel="Cancel request"
    operation="cancelApproval"
    input={{ params: { approvalId: approval?.approvalId ?? '' } }}
    refreshes={['/approvals']}
    doneMessage="Request canceled."
  >
    {approval && (
      <>
        <ApprovalSentence approval={approval} agent={<AgentName agentId={approval.agentId} link={false} />} />{' '}
        No person can approve it any more, and the agent learns that it was refused.
      </>
    )}
  </ConfirmDialog>
);
