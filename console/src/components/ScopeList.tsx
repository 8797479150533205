import { Badge, Group, Text } from '@mantine/core';
import classes from './ScopeList.module.css';
import { visibleText } from './TenantText.tsx';

interface ScopeListProps {
  readonly scopes: readonly string[];
  /** Beyond it, a number. */
  readonly max?: number;
  /** Shown without scopes. */
  readonly none?: string;
}

/** Scopes as small labels; of a long list the first ones and the number of the others. */
export function ScopeList({ scopes, max = 12, none = 'none' }: ScopeListProps) {
  if (scopes.length === 0)
    return (
      <Text size="sm" c="dimmed" component="span">
        {none}
      </Text>
    );
  const rest = scopes.slice(max);
  return (
    <Group gap={4} component="span">
      {scopes.slice(0, max).map((scope) => (
        <Badge key={scope} color="gray" tt="none" className={classes.scope ?? ''} title={visibleText(scope)}>
          <bdi>{visibleText(scope)}</bdi>
        </Badge>
      ))}
      {rest.length > 0 && (
        <Text size="xs" c="dimmed" component="span" title={visibleText(rest.join(' ').slice(0, 1_000))}>
          and {rest.length} more
        </Text>
      )}
    </Group>
  );
}
