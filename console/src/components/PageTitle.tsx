import { ActionIcon, Anchor, Group, Text, Title, Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import { useGuide } from '../app/guide-context.tsx';
import { PageLink } from '../app/navigation.tsx';
import { Icon } from './Icon.tsx';
import classes from './PageTitle.module.css';

interface PageTitleProps {
  /** The one `h1` of the page: its title, or a name that a tenant chose (`<TenantText>`). */
  readonly title: ReactNode;
  readonly description?: ReactNode;
  /** Above the title of one thing: the way back to the list, such as "All agents". */
  readonly back?:
    | {
        readonly to: string;
        readonly label: string;
        readonly search?: Readonly<Record<string, string>>;
      }
    | undefined;
  /** Buttons on the right. */
  readonly actions?: ReactNode;
}

/** The head of a page. */
export function PageTitle({ title, description, back, actions }: PageTitleProps) {
  const guide = useGuide();
  return (
    <div className={classes.head}>
      <div className={classes.texts}>
        {back && (
          <Anchor component={PageLink} to={back.to} search={back.search} size="sm">
            <Group gap={4} component="span" display="inline-flex">
              <Icon name="back" size={12} /> {back.label}
            </Group>
          </Anchor>
        )}
        <Group gap={4} wrap="nowrap" align="center">
          <Title order={1} miw={0}>
            {title}
          </Title>
          {guide && (
            <Tooltip label="Guide to this page">
              <ActionIcon component="a" href={`/docs/${guide}`} aria-label="Guide to this page">
                <Icon name="docs" />
              </ActionIcon>
            </Tooltip>
          )}
        </Group>
        {description && (
          <Text size="sm" c="dimmed" maw="48rem">
            {description}
          </Text>
        )}
      </div>
      {actions && (
        <div className={classes.actions} data-actions>
          {actions}
        </div>
      )}
    </div>
  );
}
