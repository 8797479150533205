import { Text } from '@mantine/core';

/** For a text that names the program. */
export const CommandLineSource = () => (
  <Text size="xs" c="dimmed">
    The program <code>countersign</code> comes with Countersign, and is in no registry yet: install no package
    of that name.
  </Text>
);
