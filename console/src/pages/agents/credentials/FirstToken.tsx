/** For an agent that has a credential and no token yet: how to get one, and when it arrives. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { Agent } from '../../../api/generated.ts';
import { useEvents } from '../../../app/event-context.tsx';
import { PageLink } from '../../../app/navigation.tsx';
import { Icon } from '../../../components/Icon.tsx';
import { TokenCommand } from '../../../components/TokenCommand.tsx';

/** Unknown: there is no active credential, or the list shows a part of them. */
export type CredentialUse = 'none' | 'some' | 'unknown';

interface FirstTokenProps {
  readonly agent: Agent;
  readonly use: CredentialUse;
}

const nextSteps = [
  { tab: 'activity', text: 'See it in the activity' },
  { tab: 'access', text: 'Grant scopes of an API' },
] as const;

export function FirstToken({ agent: { agentId }, use }: FirstTokenProps) {
  const [step, setStep] = useState<'waits' | 'arrived'>();
  useEvents('token.issued', (event) => {
    if (event.agentId === agentId && step === 'waits') setStep('arrived');
  });
  if (use === 'none' && step === undefined) setStep('waits');
  if (use === 'some' && step === 'waits') setStep('arrived');
  if (step === undefined || (step === 'waits' && use === 'unknown')) return null;
  return (
    <div role="status">
      {step === 'arrived' ? (
        <Alert
          mb="sm"
          role="note"
          color="green"
          icon={<Icon name="check" />}
          title="The first token has arrived"
        >
          <Group gap="xs">
            {nextSteps.map(({ tab, text }) => (
              <Button
                key={tab}
                variant="default"
                component={PageLink}
                to="/agents/$agentId"
                params={{ agentId }}
                search={{ tab }}
              >
                {text}
              </Button>
            ))}
          </Group>
        </Alert>
      ) : (
        <Alert mb="sm" role="note" icon={<Icon name="key" />} title="Waiting for the first token">
          <Stack gap="xs">
            <Text size="sm">
              Put the secret that you stored in place of cs_… and run this in a terminal. Or start the agent.
            </Text>
            <TokenCommand agentId={agentId} />
          </Stack>
        </Alert>
      )}
    </div>
  );
}
