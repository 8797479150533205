import { Badge } from '@mantine/core';

const colors: Readonly<Record<string, string>> = {
  active: 'green',
  approved: 'green',
  enabled: 'green',
  success: 'green',
  delivered: 'green',
  published: 'green',
  valid: 'green',
  verified: 'green',
  passing: 'green',
  suspended: 'yellow',
  pending: 'yellow',
  paused: 'yellow',
  expiring: 'yellow',
  retrying: 'yellow',
  draft: 'gray',
  expired: 'gray',
  withdrawn: 'gray',
  inactive: 'gray',
  disabled: 'gray',
  decommissioned: 'gray',
  canceled: 'gray',
  denied: 'red',
  revoked: 'red',
  failure: 'red',
  failed: 'red',
  failing: 'red',
  dead_letter: 'red',
  broken: 'red',
  deleted: 'gray',
};

interface StatusBadgeProps {
  /** A status word of the API. An unknown one is grey. */
  readonly status: string;
  /** Other words for it. */
  readonly label?: string;
}

/** A status as a coloured word. The word says it without the colour. */
export function StatusBadge({ status, label }: StatusBadgeProps) {
  return (
    <Badge color={colors[status.toLowerCase()] ?? 'gray'} tt="none" miw="max-content">
      {label ?? status.replaceAll('_', ' ')}
    </Badge>
  );
}
