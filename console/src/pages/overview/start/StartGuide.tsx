/** Three steps for a new organization. Each ticks itself off when its event arrives. */
import { Button, Group, Paper, Text, Title } from '@mantine/core';
import { useThrottledCallback } from '@mantine/hooks';
import { useState } from 'react';
import type { OverviewFirstSteps } from '../../../api/generated.ts';
import { useEvents } from '../../../app/event-context.tsx';
import { PageLink } from '../../../app/navigation.tsx';
import { useCan, useSession } from '../../../app/session-context.tsx';
import { Icon } from '../../../components/Icon.tsx';
import { TokenCommand } from '../../../components/TokenCommand.tsx';
import { useOverview } from '../use-overview.ts';
import classes from './StartGuide.module.css';
import { Step } from './Step.tsx';

interface StartGuideProps {
  readonly steps: OverviewFirstSteps;
}

const stepOf: Readonly<Record<string, keyof OverviewFirstSteps>> = {
  'agent.created': 'agents',
  'credential.generated': 'credentials',
  'token.issued': 'tokens',
};
/** Without events (audit:read) the guide asks from time to time. */
const pollMilliseconds = 10_000;
/** The first event is shown at once. Tokens of a busy organization come many times a second. */
const throttleMilliseconds = 5_000;

export function StartGuide({ steps }: StartGuideProps) {
  const { agentId } = useSession();
  const can = useCan();
  const isDone = steps.agents && steps.credentials && steps.tokens;
  // A guide that is finished before one's eyes stays until it is closed.
  const [shown, setShown] = useState(!isDone);
  const mustPoll = !isDone && !can('audit:read');
  // The query of the page, with an interval of its own.
  const { refetch } = useOverview({ refetchInterval: mustPoll ? pollMilliseconds : undefined });
  const reload = useThrottledCallback(() => void refetch({ cancelRefetch: false }), throttleMilliseconds);
  useEvents('', (event) => {
    const step = stepOf[event.action];
    if (step && !steps[step] && event.agentId !== agentId) reload();
  });
  if (isDone && !shown) return null;
  return (
    <Paper component="section" aria-label="Start" className={classes.guide ?? ''}>
      <Group justify="space-between" mb="xs">
        <Title order={2}>{isDone ? 'Your first agent has its first token' : 'Start in three steps'}</Title>
        {isDone && (
          <Button variant="default" onClick={() => setShown(false)}>
            Close
          </Button>
        )}
      </Group>
      <ol className={classes.steps}>
        <Step
          done={steps.agents}
          current={!steps.agents}
          title="Register an agent"
          text="An agent is a software identity: a name, an owner, and the scopes that it may hold."
        >
          {can('agents:write') ? (
            <Button
              component={PageLink}
              to="/agents"
              search={{ register: '1' }}
              leftSection={<Icon name="plus" size={14} />}
            >
              Register an agent
            </Button>
          ) : (
            <Text size="sm">
              This needs the scope <code>agents:write</code>.
            </Text>
          )}
        </Step>
        <Step
          done={steps.credentials}
          current={steps.agents && !steps.credentials}
          title="Create a credential"
          text="The agent proves its identity with a client secret, which you see once."
        >
          <Button
            component={PageLink}
            {...(steps.agentId
              ? { to: '/agents/$agentId', params: { agentId: steps.agentId }, search: { tab: 'credentials' } }
              : { to: '/agents' })}
            leftSection={<Icon name="key" size={14} />}
          >
            Create a credential
          </Button>
        </Step>
        <Step
          done={steps.tokens}
          current={steps.credentials && !steps.tokens}
          title="Get a token"
          text="Put the secret that you stored in place of cs_… and run this in a terminal. The first token appears here."
        >
          <TokenCommand agentId={steps.agentId ?? 'the-agent-id'} />
        </Step>
      </ol>
      {isDone && <NextSteps />}
    </Paper>
  );
}

/** Where to go from the first token. */
function NextSteps() {
  const can = useCan();
  const session = useSession();
  return (
    <Group gap="xs" className={classes.next ?? ''}>
      <Text size="sm">What next?</Text>
      {can('resources:write') && (
        <Button variant="default" component={PageLink} to="/apis" search={{ create: '1' }}>
          Register an API of yours
        </Button>
      )}
      {session.role !== 'viewer' && (
        <Button variant="default" component={PageLink} to="/delegations" search={{ delegate: '1' }}>
          Delegate scopes
        </Button>
      )}
      {can('audit:read') && (
        <Button variant="default" component={PageLink} to="/audit">
          Verify the audit log
        </Button>
      )}
    </Group>
  );
}
