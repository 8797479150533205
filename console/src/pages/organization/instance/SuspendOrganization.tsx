import type { Organization } from '../../../api/generated.ts';
import { ConfirmDialog } from '../../../components/ConfirmDialog.tsx';
import { useLast } from '../../../components/frozen.ts';
import { TenantText } from '../../../components/TenantText.tsx';

interface SuspendOrganizationProps {
  /** Undefined: the dialog is closed. */
  readonly organization: Organization | undefined;
  readonly onClose: () => void;
}

export function SuspendOrganization({ organization, onClose }: SuspendOrganizationProps) {
  const shown = useLast(organization);
  return (
    <ConfirmDialog
      opened={organization !== undefined}
      onClose={onClose}
      title="Suspend this organization?"
      confirmLabel="Suspend organization"
      operation="updateOrganization"
      input={{ params: { orgId: shown?.organizationId ?? '' }, body: { status: 'suspended' } }}
      refreshes={['/organizations']}
      doneMessage="Organization suspended."
    >
      All agents of <TenantText text={shown?.name} /> stop: their tokens are refused, they get no new ones,
      and console sessions end. Webhooks of the organization are not delivered. You can reactivate it at any
      time.
    </ConfirmDialog>
  );
}
