import { Anchor, Group } from '@mantine/core';
import { PageLink } from '../app/navigation.tsx';
import { Icon } from './Icon.tsx';

export interface BackLinkProps {
  readonly to: string;
  /** The list that it leads to: "All agents". */
  readonly children: string;
}

/** Above the title of one thing: back to the list. */
export function BackLink({ to, children }: BackLinkProps) {
  return (
    <Anchor component={PageLink} to={to} size="sm">
      <Group gap={4} component="span" display="inline-flex">
        <Icon name="back" size={12} /> {children}
      </Group>
    </Anchor>
  );
}
