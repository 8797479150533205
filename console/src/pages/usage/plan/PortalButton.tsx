import { Button, Text } from '@mantine/core';
import { useAction } from '../../../api/queries.ts';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { Dialog, DialogFooter } from '../../../components/Dialog.tsx';
import { Icon } from '../../../components/Icon.tsx';
import { showError } from '../../../components/notices.tsx';

/** The provider's page for payment and invoices. Its URL is made on request and opens in a new tab. */
export function PortalButton() {
  const portal = useAction('openBillingPortal');
  return (
    <>
      <Button
        variant="default"
        loading={portal.isPending}
        onClick={() => portal.mutate({ body: {} }, { onError: showError })}
      >
        Billing portal
      </Button>
      <Dialog opened={portal.data !== undefined} onClose={portal.reset} title="Billing portal">
        <Text size="sm">Payment, invoices and the plan are on a page of the payment provider.</Text>
        <DialogFooter aside={<CopyAs operation="openBillingPortal" input={{ body: {} }} />}>
          <Button
            component="a"
            href={portal.data?.portalUrl ?? '#'}
            target="_blank"
            rel="noopener noreferrer"
            rightSection={<Icon name="external" size={14} />}
            onClick={portal.reset}
          >
            Open the portal
          </Button>
        </DialogFooter>
      </Dialog>
    </>
  );
}
