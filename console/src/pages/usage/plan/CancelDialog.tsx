import { Stack, Text } from '@mantine/core';
import type { Subscription } from '../../../api/generated.ts';
import { useAction } from '../../../api/queries.ts';
import { ConfirmEnding } from '../../../components/ConfirmEnding.tsx';
import { CopyAsCurl } from '../../../components/CopyAsCurl.tsx';
import { showDone } from '../../../components/notices.tsx';
import { exactTime } from '../../../components/RelativeTime.tsx';
import { PlanTable } from './PlanTable.tsx';

export interface CancelDialogProps {
  readonly opened: boolean;
  readonly subscription: Subscription;
  readonly onClose: () => void;
}

/** Says when the plan ends, and what its end changes. */
export function CancelDialog({ opened, subscription, onClose }: CancelDialogProps) {
  const { tier, provider, currentPeriodEnd } = subscription;
  const cancel = useAction('cancelSubscription', { refreshes: ['/billing', '/usage', '/tiers'] });
  const isAtOnce = provider === 'embedded' || currentPeriodEnd === null;
  return (
    <ConfirmEnding
      opened={opened}
      onClose={onClose}
      title="Cancel the subscription?"
      confirmLabel="Cancel the subscription"
      onConfirm={async () => {
        await cancel.mutateAsync({});
        showDone(isAtOnce ? 'The subscription has ended' : 'The subscription ends with the paid period');
      }}
      extra={<CopyAsCurl operation="cancelSubscription" input={{}} />}
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
    </ConfirmEnding>
  );
}
