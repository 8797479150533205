import { Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './PageTitle.module.css';

export interface PageTitleProps {
  /** The one `h1` of the page: its title, or a name that a tenant chose (`<TenantText>`). */
  readonly title: ReactNode;
  readonly description?: ReactNode;
  /** Above the title: a way back to the list. */
  readonly above?: ReactNode;
  /** Buttons on the right. */
  readonly actions?: ReactNode;
}

/** The head of a page. */
export function PageTitle({ title, description, above, actions }: PageTitleProps) {
  return (
    <div className={classes.head}>
      <div className={classes.texts}>
        {above}
        <Title order={1}>{title}</Title>
        {description && (
          <Text size="sm" c="dimmed" maw="48rem">
            {description}
          </Text>
        )}
      </div>
      {actions && <div className={classes.actions}>{actions}</div>}
    </div>
  );
}
