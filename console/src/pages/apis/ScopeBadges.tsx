import { Badge, Group, Text } from '@mantine/core';
import { visibleText } from '../../components/TenantText.tsx';

export interface ScopeBadgesProps {
  readonly scopes: readonly string[];
  /** Beyond it, a number. */
  readonly max?: number;
}

/** Names of scopes. They are printable ASCII without blanks. */
export function ScopeBadges({ scopes, max = Number.POSITIVE_INFINITY }: ScopeBadgesProps) {
  const rest = scopes.length - max;
  return (
    <Group gap={4}>
      {scopes.slice(0, max).map((scope) => (
        <Badge key={scope} color="gray" tt="none" fw={500} maw="16rem" title={visibleText(scope)}>
          {visibleText(scope)}
        </Badge>
      ))}
      {rest > 0 && (
        <Text size="xs" c="dimmed">
          and {rest} more
        </Text>
      )}
    </Group>
  );
}
