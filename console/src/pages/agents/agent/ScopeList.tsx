import { Badge, Group, Text } from '@mantine/core';
import { visibleText } from '../../../components/TenantText.tsx';
import classes from './agent.module.css';

const most = 12;

/** Scopes as small labels; of a long list the first ones and the number of the others. */
export function ScopeList({
  scopes,
  none = 'none',
}: {
  readonly scopes: readonly string[];
  readonly none?: string;
}) {
  if (scopes.length === 0)
    return (
      <Text size="sm" c="dimmed" component="span">
        {none}
      </Text>
    );
  return (
    <Group gap={4} component="span">
      {scopes.slice(0, most).map((scope) => (
        <Badge key={scope} color="gray" tt="none" className={classes.scope ?? ''} title={visibleText(scope)}>
          <bdi>{visibleText(scope)}</bdi>
        </Badge>
      ))}
      {scopes.length > most && (
        <Text size="xs" c="dimmed" component="span" title={visibleText(scopes.slice(most).join(' '))}>
          and {scopes.length - most} more
        </Text>
      )}
    </Group>
  );
}
