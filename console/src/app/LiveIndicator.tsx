import { Popover, Text, UnstyledButton } from '@mantine/core';
import { useStreamStatus } from './event-context.tsx';
import classes from './LiveIndicator.module.css';
import { useCan } from './session-context.tsx';

const words = { live: 'Live', connecting: 'Connecting', off: 'Not live' };

const meanings = {
  live: 'Changes in your organization appear on this page within seconds, without a reload.',
  connecting:
    'The console connects to the event stream. Until then this page may be a little out of date; it catches up by itself.',
  off: 'Events do not reach this page at the moment. It loads again when you come back to the tab.',
};

/** Whether the page follows the organization's events: in a word, and in a sentence when asked. */
export function LiveIndicator() {
  const status = useStreamStatus();
  const mayRead = useCan()('audit:read');
  return (
    <Popover width={280} position="bottom-end" shadow="md" withArrow>
      <Popover.Target>
        <UnstyledButton className={classes.button ?? ''} aria-label={`${words[status]}: about live updates`}>
          <span className={classes.dot} data-status={status} aria-hidden />
          <span className={classes.word}>{words[status]}</span>
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown>
        <Text size="sm" fw={600}>
          {words[status]}
        </Text>
        <Text size="sm">
          {mayRead
            ? meanings[status]
            : 'Live updates come from the audit log, and this session lacks audit:read. The page loads again when you come back to the tab.'}
        </Text>
      </Popover.Dropdown>
    </Popover>
  );
}
