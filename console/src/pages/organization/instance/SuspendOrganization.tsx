import { useState } from 'react';
import type { Organization } from '../../../api/generated.ts';
import { useAction } from '../../../api/queries.ts';
import { ConfirmEnding } from '../../../components/ConfirmEnding.tsx';
import { CopyAsCurl } from '../../../components/CopyAsCurl.tsx';
import { showDone } from '../../../components/notices.tsx';
import { TenantText } from '../../../components/TenantText.tsx';

export function SuspendOrganization({
  organization,
  onClose,
}: {
  /** Undefined: the dialog is closed. */
  readonly organization: Organization | undefined;
  readonly onClose: () => void;
}) {
  const [shown, setShown] = useState(organization);
  // The dialog keeps its content while it closes.
  if (organization && shown !== organization) setShown(organization);
  const update = useAction('updateOrganization', {
    refreshes: ['/organizations'],
    onSuccess: () => showDone('Organization suspended.'),
  });
  const input = {
    params: { orgId: shown?.organizationId ?? '' },
    body: { status: 'suspended' as const },
  };
  return (
    <ConfirmEnding
      opened={organization !== undefined}
      onClose={onClose}
      title="Suspend this organization?"
      confirmLabel="Suspend organization"
      onConfirm={() => update.mutateAsync(input)}
      extra={<CopyAsCurl operation="updateOrganization" input={input} />}
    >
      All agents of <TenantText text={shown?.name} /> stop: their tokens are refused, they get no new ones,
      and console sessions end. Webhooks of the organization are not delivered. You can reactivate it at any
      time.
    </ConfirmEnding>
  );
}
