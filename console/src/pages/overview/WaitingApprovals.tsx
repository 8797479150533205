import { Anchor } from '@mantine/core';
import type { Overview } from '../../api/generated.ts';
import { PageLink } from '../../app/navigation.tsx';
import { Facts } from '../../components/Facts.tsx';
import { Section } from '../../components/Section.tsx';
import { decisionTime } from './decision-time.ts';

/** How many requests of the organization wait for people, and how fast people decide. */
export function WaitingApprovals({
  approvals: { waiting, medianDecisionSeconds },
}: {
  readonly approvals: NonNullable<Overview['approvals']>;
}) {
  return (
    <Section title="Approvals" description="Requests of agents that a person decides.">
      <Facts
        facts={{
          'Waiting approvals': (
            <Anchor
              component={PageLink}
              to="/approvals"
              search={{ tab: 'organization', status: 'pending' }}
              inherit
            >
              {waiting.toLocaleString('en')}
            </Anchor>
          ),
          'Median time to a decision':
            medianDecisionSeconds === null
              ? 'none in the last 24 hours'
              : decisionTime(medianDecisionSeconds),
        }}
      />
    </Section>
  );
}
