import { Button, List, Menu } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { WebhookSubscription, WebhookSubscriptionWithSecret } from '../../api/generated.ts';
import { useAction, useApi } from '../../api/queries.ts';
import { useGoTo, usePageSearch } from '../../app/navigation.tsx';
import { useCan } from '../../app/session-context.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { CopyAs, CopyAsMenu, copyable } from '../../components/CopyAs.tsx';
import { Icon } from '../../components/Icon.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { showDone, showError } from '../../components/notices.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { webhookPage } from './page.ts';
import { RotateDialog } from './RotateDialog.tsx';
import { SigningSecret, SubscriptionDialog } from './SubscriptionDialog.tsx';

type OpenDialog = 'edit' | 'rotate' | 'pause' | 'delete' | undefined;

interface SubscriptionActionsProps {
  readonly subscription: WebhookSubscription;
}

/** What can be done with a subscription, and the dialogs for it. */
export function SubscriptionActions({ subscription }: SubscriptionActionsProps) {
  const { id, active } = subscription;
  const [open, setOpen] = useState<OpenDialog>();
  const [rotated, setRotated] = useState<WebhookSubscriptionWithSecret>();
  const [, setSearch] = usePageSearch(webhookPage);
  const mayWrite = useCan()('webhooks:write');
  const test = useAction('testWebhook', { refreshes: ['/webhooks'] });
  const update = useAction('updateWebhook', { refreshes: ['/webhooks'] });
  if (!mayWrite) return <CopyAs operation="getWebhook" input={{ params: { id } }} />;
  const close = () => setOpen(undefined);
  const sendTest = () =>
    test.mutateAsync({ params: { id } }).then((delivery) => {
      showDone('Test delivery requested');
      setSearch({ status: undefined, from: undefined, to: undefined, page: 1, selected: delivery.id });
    }, showError);
  const resume = () =>
    update
      .mutateAsync({ params: { id }, body: { active: true } })
      .then(() => showDone('Webhook resumed'), showError);
  return (
    <>
      <CopyAsMenu
        requests={[
          copyable('Webhook', 'getWebhook', { params: { id } }),
          copyable('Test', 'testWebhook', { params: { id } }),
          ...(active
            ? []
            : [copyable('Resume', 'updateWebhook', { params: { id }, body: { active: true } })]),
        ]}
      />
      <IconButton variant="default" onClick={() => setOpen('edit')} icon="edit">
        Edit
      </IconButton>
      <IconButton onClick={() => void sendTest()} loading={test.isPending} icon="action">
        Send test
      </IconButton>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" rightSection={<Icon name="down" size={14} />}>
            More
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<Icon name="refresh" size={14} />}
            onClick={() => setSearch({ replay: true })}
          >
            Replay failed deliveries
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="key" size={14} />} onClick={() => setOpen('rotate')}>
            Rotate secret
          </Menu.Item>
          <Menu.Item
            leftSection={<Icon name="clock" size={14} />}
            onClick={() => (active ? setOpen('pause') : void resume())}
          >
            {active ? 'Pause' : 'Resume'}
          </Menu.Item>
          <Menu.Item
            color="var(--mantine-color-error)"
            leftSection={<Icon name="trash" size={14} />}
            onClick={() => setOpen('delete')}
          >
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {open === 'edit' && <SubscriptionDialog opened onClose={close} subscription={subscription} />}
      {open === 'rotate' && (
        <RotateDialog subscription={subscription} onClose={close} onRotated={setRotated} />
      )}
      <SigningSecret subscription={rotated} onClose={() => setRotated(undefined)} />
      <ConfirmDialog
        opened={open === 'pause'}
        onClose={close}
        title="Pause this webhook?"
        confirmLabel="Pause webhook"
        operation="updateWebhook"
        input={{ params: { id }, body: { active: false } }}
        refreshes={['/webhooks']}
        doneMessage="Webhook paused"
      >
        Events that happen while it is paused are not delivered, also not later. Deliveries that wait now are
        sent when it is resumed.
      </ConfirmDialog>
      {open === 'delete' && <DeleteDialog subscription={subscription} onClose={close} />}
    </>
  );
}

function DeleteDialog({
  subscription,
  onClose,
}: SubscriptionActionsProps & { readonly onClose: () => void }) {
  const { id, name } = subscription;
  const goTo = useGoTo();
  const counts = useApi('countWebhookDeliveries', { params: { id } }, { staleTime: 0 });
  const client = useQueryClient();
  const { pending = 0, failed = 0, delivered = 0, dead_letter = 0 } = counts.data ?? {};
  const waiting = pending + failed;
  const recorded = waiting + delivered + dead_letter;
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title="Delete this webhook?"
      confirmLabel="Delete webhook"
      ready={!counts.isPending}
      operation="deleteWebhook"
      input={{ params: { id } }}
      doneMessage="Webhook deleted"
      onDone={() => {
        // Only the list: the page of the deleted one would load again, too.
        void client.invalidateQueries({ queryKey: ['listWebhooks'] });
        goTo({ to: '/webhooks' });
      }}
    >
      With <TenantText text={name} /> this ends:
      <List size="sm" mt="xs">
        <List.Item>Events are no longer sent to this address.</List.Item>
        <List.Item>
          {counts.data
            ? `${waiting.toLocaleString('en')} deliveries that wait or would be retried are not sent.`
            : 'Deliveries that wait or would be retried are not sent.'}
        </List.Item>
        <List.Item>
          {counts.data
            ? `The record of ${recorded.toLocaleString('en')} deliveries is deleted.`
            : 'The record of its deliveries is deleted.'}
        </List.Item>
        <List.Item>Its signing secret is no longer valid.</List.Item>
      </List>
    </ConfirmDialog>
  );
}
