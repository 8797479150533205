import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Icon } from '../../../components/Icon.tsx';
import classes from './StartGuide.module.css';

interface StepProps {
  readonly done: boolean;
  /** The next thing to do: its children are shown. */
  readonly current: boolean;
  readonly title: string;
  readonly text: string;
  readonly children: ReactNode;
}

export function Step({ done, current, title, text, children }: StepProps) {
  return (
    <li className={classes.step} data-done={done || undefined} data-current={current || undefined}>
      <span className={classes.mark} aria-hidden="true">
        {done && <Icon name="check" size={14} />}
      </span>
      <div className={classes.content}>
        <Text fw={600} size="sm" component="div">
          {title}
          <span className="visually-hidden" role="status">
            {done ? ' (done)' : ''}
          </span>
        </Text>
        {!done && (
          <Text size="sm" c="dimmed">
            {text}
          </Text>
        )}
        {current && children}
      </div>
    </li>
  );
}
