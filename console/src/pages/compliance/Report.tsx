import { Text } from '@mantine/core';
import { useApi } from '../../api/queries.ts';
import { CopyAs } from '../../components/CopyAs.tsx';
import { exactTime } from '../../components/exact-time.ts';
import { Facts } from '../../components/Facts.tsx';
import { QueryState } from '../../components/QueryState.tsx';
import { Section } from '../../components/Section.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import classes from './Compliance.module.css';

/** The report of the organization. */
export function Report() {
  const report = useApi('getComplianceReport', {});
  return (
    <Section
      title="Report of your organization"
      label="Report"
      actions={<CopyAs operation="getComplianceReport" input={{}} />}
    >
      <QueryState query={report} label="Loading the report" rows={3}>
        {({ agentCount, verifiedAgentCount, agntcyConformance, auditChainIntegrity, generatedAt }) => (
          <>
            <Facts
              className={classes.figures}
              facts={{
                Agents: agentCount.toLocaleString('en'),
                'Verified agents': verifiedAgentCount.toLocaleString('en'),
                'AGNTCY conformance': (
                  <StatusBadge
                    status={agntcyConformance ? 'passing' : 'pending'}
                    label={agntcyConformance ? 'all agents' : 'not all agents, or not all checked yet'}
                  />
                ),
                'Audit log': (
                  <StatusBadge
                    status={auditChainIntegrity ? 'passing' : 'failing'}
                    label={auditChainIntegrity ? 'intact' : 'not intact'}
                  />
                ),
              }}
            />
            <Text size="xs" c="dimmed" mt="xs">
              Made at {exactTime(generatedAt)}. The server keeps a report for five minutes.
            </Text>
          </>
        )}
      </QueryState>
    </Section>
  );
}
