import { Group, Text } from '@mantine/core';
import type { WebhookAttempt } from '../../../api/generated.ts';
import { CodeBlock } from '../../../components/CodeBlock.tsx';
import { exactTime } from '../../../components/exact-time.ts';
import { TenantText } from '../../../components/TenantText.tsx';
import classes from '../Webhook.module.css';
import { isAccepted, resultOf } from './delivery-words.ts';

/** The attempts of a delivery, newest first, each with the receiver's response. */
export function Attempts({ attempts }: { readonly attempts: readonly WebhookAttempt[] }) {
  if (attempts.length === 0)
    return (
      <Text size="sm" c="dimmed">
        No attempt yet.
      </Text>
    );
  return (
    <ol className={classes.attempts} aria-label="Attempts">
      {attempts.toReversed().map((attempt) => (
        <li
          key={attempt.attempted_at}
          className={classes.attempt}
          data-accepted={isAccepted(attempt) || undefined}
        >
          <Text component="div" size="sm" fw={600}>
            <TenantText text={resultOf(attempt)} multiline />
          </Text>
          <Group gap="xs">
            <Text size="xs" c="dimmed">
              {exactTime(attempt.attempted_at)} · {attempt.duration_ms.toLocaleString('en')} ms
            </Text>
          </Group>
          {attempt.response_excerpt && (
            <CodeBlock text={attempt.response_excerpt} label="Response of the receiver" maxHeight={192} />
          )}
        </li>
      ))}
    </ol>
  );
}
