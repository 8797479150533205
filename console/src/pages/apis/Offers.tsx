import { Badge, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReceivedShare } from '../../api/generated.ts';
import { useAction, useApi } from '../../api/queries.ts';
import { useSession } from '../../app/session-context.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { showDone } from '../../components/notices.tsx';
import { ScopeList } from '../../components/ScopeList.tsx';
import { TenantText } from '../../components/TenantText.tsx';

const pageSize = 100;

/** APIs that other organizations offer to this one. Nothing of them is in force until an admin accepts. */
export function Offers() {
  const mayDecide = useSession().role === 'admin';
  const input = { query: { limit: pageSize } };
  const { data } = useApi('listReceivedShares', input);
  const offers = (data?.data ?? []).filter(({ offeredScopes }) => offeredScopes.length > 0);
  if (offers.length === 0) return null;
  return (
    <Paper component="section" aria-labelledby="offers" mb="md" p="md">
      <Group justify="space-between">
        <Title order={2} size="h4" id="offers">
          Offered by other organizations
        </Title>
        <CopyAs operation="listReceivedShares" input={input} />
      </Group>
      <Text size="sm" c="dimmed" maw="48rem" mb="sm">
        An offer gives nothing until an admin of your organization accepts it. Names and identifiers are the
        owner's own words: compare the organization's short name with one that you know.
      </Text>
      <Stack gap="sm">
        {offers.map((offer) => (
          <Offer key={offer.resourceId} offer={offer} mayDecide={mayDecide} />
        ))}
      </Stack>
    </Paper>
  );
}

interface OfferProps {
  readonly offer: ReceivedShare;
  readonly mayDecide: boolean;
}

function Offer({ offer, mayDecide }: OfferProps) {
  const { resourceId, ownerName, ownerSlug, identifier, name, offeredScopes, status, verified } = offer;
  const [declining, setDeclining] = useState(false);
  const accept = useAction('acceptShare', {
    refreshes: ['/shares', '/resources'],
    onSuccess: () => showDone('Share accepted'),
  });
  const params = { resourceId };
  return (
    <Group justify="space-between" align="flex-start">
      <Stack gap={4} maw="44rem">
        <Text size="sm" component="div">
          Organization <TenantText text={ownerName} /> (<code>{ownerSlug}</code>)
        </Text>
        <Text size="sm" component="div">
          <TenantText text={name} />, <TenantText text={identifier} multiline />
          {!verified && (
            <Badge color="yellow" tt="none" ml="xs">
              host not proven
            </Badge>
          )}
        </Text>
        <Group gap="xs">
          <Text size="sm">{status === 'accepted' ? 'Further scopes:' : 'Scopes:'}</Text>
          <ScopeList scopes={offeredScopes} max={8} />
        </Group>
        {accept.error && (
          <Text size="sm" c="red" role="alert">
            {accept.error.message}
          </Text>
        )}
      </Stack>
      {mayDecide ? (
        <Group gap="xs">
          <CopyAs operation="acceptShare" input={{ params }} />
          <Button size="compact-sm" onClick={() => accept.mutate({ params })} loading={accept.isPending}>
            Accept
          </Button>
          {status === 'offered' && (
            <Button size="compact-sm" variant="default" onClick={() => setDeclining(true)}>
              Decline
            </Button>
          )}
        </Group>
      ) : (
        <Text size="sm" c="dimmed">
          An admin decides.
        </Text>
      )}
      {declining && <LeaveDialog share={offer} onClose={() => setDeclining(false)} />}
    </Group>
  );
}

interface LeaveDialogProps {
  readonly share: Pick<ReceivedShare, 'resourceId' | 'status'>;
  readonly onClose: () => void;
  readonly onLeft?: () => void;
}

/** Declines an offer, or leaves a share. */
export function LeaveDialog({ share: { resourceId, status }, onClose, onLeft }: LeaveDialogProps) {
  const refreshLists = useListRefresh();
  const isOffer = status === 'offered';
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title={isOffer ? 'Decline this offer?' : 'Leave this share?'}
      confirmLabel={isOffer ? 'Decline offer' : 'Leave share'}
      operation="declineShare"
      input={{ params: { resourceId } }}
      refreshes={['/shares']}
      doneMessage={isOffer ? 'Offer declined' : 'Share left'}
      onDone={() => {
        refreshLists();
        onLeft?.();
      }}
    >
      {!isOffer && 'The grants of your agents for this API end, and introspection refuses their tokens. '}
      The owner can offer the API again 24 hours later.
    </ConfirmDialog>
  );
}

/** Loads the lists with APIs again. Not the page of an API that is gone: it would load again, too. */
export function useListRefresh(): () => void {
  const client = useQueryClient();
  return () => {
    for (const id of ['listResources', 'listAgentGrants', 'getAgentAccess'])
      void client.invalidateQueries({ queryKey: [id] });
  };
}
