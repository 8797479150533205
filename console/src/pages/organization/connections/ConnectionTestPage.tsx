import { Alert, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type ConnectionTest, fetchConnectionTest } from '../../../api/connection-tests.ts';
import { useApi } from '../../../api/queries.ts';
import { usePageSearch } from '../../../app/navigation.tsx';
import { useSession } from '../../../app/session-context.tsx';
import { providerErrors, providerProblem } from '../../../app/sign-in-address.ts';
import { CheckTable } from '../../../components/CheckTable.tsx';
import { RequestId } from '../../../components/ErrorAlert.tsx';
import { Icon } from '../../../components/Icon.tsx';
import { JsonView } from '../../../components/JsonView.tsx';
import { PageTitle } from '../../../components/PageTitle.tsx';
import { QueryState } from '../../../components/QueryState.tsx';
import { Section } from '../../../components/Section.tsx';
import { TenantText } from '../../../components/TenantText.tsx';
import { connectionTestPage } from '../page.ts';

/** The browser comes back from the provider to this page. */
export function ConnectionTestPage(): ReactNode {
  const [search] = usePageSearch(connectionTestPage);
  const { error, requestId } = providerProblem(search.error, search.requestId);
  const test = useQuery({
    queryKey: ['connectionTest'],
    queryFn: ({ signal }) => fetchConnectionTest(signal),
    enabled: error === undefined,
    retry: false,
  });
  return (
    <>
      <PageTitle
        title="Test of a connection"
        description="The claims that the provider sent, and which conditions hold. Nothing was created or changed."
        back={{ to: '/organization', label: 'Organization', search: { tab: 'connections' } }}
      />
      {error !== undefined ? (
        <Alert color="red" role="alert" icon={<Icon name="warning" />} title="The test did not work">
          {providerErrors[error]}
          <RequestId id={requestId} />
        </Alert>
      ) : (
        <QueryState query={test} label="Loading the result of the test" errorTitle="There is no result">
          {(result) => <Result result={result} />}
        </QueryState>
      )}
    </>
  );
}

function Result({ result: { connectionId, claims, checks, admitted } }: { readonly result: ConnectionTest }) {
  const { organizationId } = useSession();
  const connection = useApi('getConnection', { params: { orgId: organizationId, connectionId } });
  const failed = checks.filter(({ ok }) => !ok).length;
  return (
    <Stack gap="md">
      <Alert
        role="status"
        color={admitted ? 'green' : 'red'}
        icon={<Icon name={admitted ? 'check' : 'warning'} />}
        title={admitted ? 'You would be admitted' : 'You would be refused'}
      >
        <Text size="sm" component="div">
          {connection.data && (
            <>
              Connection <TenantText text={connection.data.name} />.{' '}
            </>
          )}
          {checks.length === 0
            ? 'It has no conditions: everybody who can sign in at the provider is admitted.'
            : admitted
              ? 'All conditions hold.'
              : `${failed} of ${checks.length} conditions do not hold.`}
        </Text>
      </Alert>
      {checks.length > 0 && (
        <Section title="Conditions">
          <CheckTable checks={checks} />
        </Section>
      )}
      <Section title="Claims of the ID token" description="Conditions can use each of them.">
        <JsonView value={claims} label="Claims of the ID token" />
      </Section>
    </Stack>
  );
}
