import { Stack, Text } from '@mantine/core';
import type { Subscription } from '../../../api/generated.ts';
import { ConfirmDialog } from '../../../components/ConfirmDialog.tsx';
import { exactTime } from '../../../components/exact-time.ts';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { PlanTable } from './PlanTable.tsx';

interface CancelDialogProps extends DialogProps {
  readonly subscription: Subscription;
}

/** Says when the plan ends, and what its end changes. */
export function CancelDialog({ opened, subscription, onClose }: CancelDialogProps) {
  const { tier, provider, currentPeriodEnd } = subscription;
  const isAtOnce = provider === 'embedded' || currentPeriodEnd === null;
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title="Cancel the subscription?"
      confirmLabel="Cancel the subscription"
      operation="cancelSubscription"
      input={{}}
      refreshes={['/billing', '/usage', '/tiers']}
      doneMessage={isAtOnce ? 'The subscription has ended' : 'The subscription ends with the paid period'}
    >
      <Stack gap="xs">
        <Text size="sm">
          {isAtOnce
            ? 'The subscription ends at once, and your organization gets the plan free.'
            : `The subscription ends at ${exactTime(currentPeriodEnd)}. Then your organization gets the plan free.`}
        </Text>
        {tier !== 'free' && <PlanTable from={tier} to="free" />}
        <Text size="sm">
          Agents, credentials and the audit log stay. Above a limit of the plan free, new agents, calls and
          tokens are refused.
        </Text>
      </Stack>
    </ConfirmDialog>
  );
}
