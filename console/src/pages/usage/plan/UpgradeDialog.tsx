import { Alert, Button, Stack, Text } from '@mantine/core';
import { type PlanTier, planTiers } from '../../../api/generated.ts';
import { useAction } from '../../../api/queries.ts';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { Dialog, DialogFooter } from '../../../components/Dialog.tsx';
import { Icon } from '../../../components/Icon.tsx';
import { PlanTable } from './PlanTable.tsx';

interface UpgradeDialogProps {
  /** Undefined: closed. */
  readonly target: 'pro' | 'enterprise' | undefined;
  readonly current: PlanTier;
  readonly onClose: () => void;
}

/** The payment happens in another tab. This dialog notices the new plan. */
export function UpgradeDialog({ target, current, onClose }: UpgradeDialogProps) {
  const checkout = useAction('startCheckout');
  const { reset } = checkout;
  const isDone = target !== undefined && planTiers.indexOf(current) >= planTiers.indexOf(target);
  const close = () => {
    reset();
    onClose();
  };
  return (
    <Dialog opened={target !== undefined} onClose={close} title={`Upgrade to ${target ?? ''}`} size="lg">
      {target && (
        <>
          <Stack>
            {isDone ? (
              <Alert color="green" icon={<Icon name="check" />} role="status">
                Your organization has the plan {current}.
              </Alert>
            ) : (
              <>
                <PlanTable from={current} to={target} />
                {checkout.data && (
                  <Alert color="seal" role="status" title="The checkout is ready">
                    It opens in a new tab. This page shows the new plan as soon as the payment is confirmed.
                  </Alert>
                )}
                <Text size="sm" c="dimmed">
                  The plan changes when the payment is confirmed, and not before.
                </Text>
              </>
            )}
          </Stack>
          <DialogFooter
            error={checkout.error}
            errorTitle="The checkout did not open"
            aside={!isDone && <CopyAs operation="startCheckout" input={{ body: { target_tier: target } }} />}
          >
            <Button variant="default" onClick={close}>
              Close
            </Button>
            {!isDone &&
              (checkout.data ? (
                <Button
                  component="a"
                  href={checkout.data.checkoutUrl}
                  target="_blank"
                  rel="noopener noreferrer"
                  rightSection={<Icon name="external" size={14} />}
                >
                  Open the checkout
                </Button>
              ) : (
                <Button
                  loading={checkout.isPending}
                  onClick={() => checkout.mutate({ body: { target_tier: target } })}
                >
                  Continue to the checkout
                </Button>
              ))}
          </DialogFooter>
        </>
      )}
    </Dialog>
  );
}
