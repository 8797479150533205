import { Tooltip } from '@mantine/core';
import { useStreamStatus } from './event-context.tsx';
import classes from './LiveIndicator.module.css';

const texts = {
  live: 'Live: changes appear by themselves',
  connecting: 'Connecting to the event stream',
  off: 'No live updates',
};

/** Whether the page follows the organization's events. */
export function LiveIndicator() {
  const status = useStreamStatus();
  return (
    <Tooltip label={texts[status]}>
      <span className={classes.dot} data-status={status} role="img" aria-label={texts[status]} />
    </Tooltip>
  );
}
