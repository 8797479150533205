import { Text } from '@mantine/core';
import { useApi } from '../../api/queries.ts';
import type { Output } from '../../api/request.ts';
import { AgentName } from '../../components/AgentName.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { type Column, TableOrText } from '../../components/DataTable.tsx';
import { QueryState } from '../../components/QueryState.tsx';
import { Section } from '../../components/Section.tsx';

type Row = Output<'getApprovalAnalytics'>['data'][number];

const outcomes = {
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Lapsed',
  canceled: 'Canceled',
  pending: 'Waiting',
} as const;

const columns: readonly Column<Row>[] = [
  { header: 'Agent', cell: ({ agentId }) => <AgentName agentId={agentId} /> },
  ...Object.entries(outcomes).map(
    ([outcome, header]): Column<Row> => ({
      header,
      width: '7rem',
      align: 'right',
      cell: (row) => row[outcome as keyof typeof outcomes].toLocaleString('en'),
    }),
  ),
];

/** What people decided, by the agent that asked. */
export function ApprovalOutcomes() {
  const approvals = useApi('getApprovalAnalytics', {});
  return (
    <Section
      title="Approvals by agent"
      description="Requests of agents that people decided, by their outcome."
      actions={<CopyAs operation="getApprovalAnalytics" input={{}} />}
    >
      <QueryState query={approvals} label="Loading the approvals" rows={2}>
        {({ data, days, total }) => (
          <>
            <TableOrText
              label="Approvals by agent and outcome"
              rows={data}
              columns={columns}
              rowId={({ agentId }) => agentId}
              empty={`No agent has asked a person in the last ${days} days.`}
            />
            {data.length > 0 && (
              <Text size="xs" c="dimmed" mt={4}>
                {total > data.length &&
                  `The ${data.length} of ${total.toLocaleString('en')} that asked most. `}
                In the last {days} days.
              </Text>
            )}
          </>
        )}
      </QueryState>
    </Section>
  );
}
