import { Text } from '@mantine/core';

/** Where a reader gets the program that a text names. No registry has it before the first release. */
export const CommandLineSource = () => (
  <Text size="xs" c="dimmed">
    The program <code>countersign</code> is in the repository of Countersign: docs/guides/command-line.md, Get
    the program. Install no package of that name from a registry.
  </Text>
);
