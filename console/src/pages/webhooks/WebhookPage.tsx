import type { ReactNode } from 'react';
import { useApi } from '../../api/queries.ts';
import { usePathParam } from '../../app/navigation.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { QueryState } from '../../components/QueryState.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { Deliveries } from './deliveries/Deliveries.tsx';
import { SubscriptionActions } from './SubscriptionActions.tsx';
import { SubscriptionFacts } from './SubscriptionFacts.tsx';

const back = { to: '/webhooks', label: 'All webhooks' };

/** One subscription: what it sends where, and its deliveries. */
export function WebhookPage(): ReactNode {
  const id = usePathParam('webhookId');
  // The count of failures changes without an event.
  const query = useApi('getWebhook', { params: { id } }, { refetchInterval: 15_000 });
  const { data, error, refetch } = query;
  if (!data)
    return (
      <>
        <PageTitle title="Webhook" back={back} />
        <QueryState query={query} label="Loading webhook" />
      </>
    );
  return (
    <>
      <PageTitle
        title={<TenantText text={data.name} />}
        back={back}
        actions={<SubscriptionActions subscription={data} />}
      />
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      <SubscriptionFacts subscription={data} />
      <Deliveries subscription={data} />
    </>
  );
}
