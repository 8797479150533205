import { Text } from '@mantine/core';

/** The id that the server's log has for the request. */
export function RequestId({ id }: { readonly id: string | undefined }) {
  if (!id) return null;
  return (
    <Text size="xs" c="dimmed" mt={4}>
      Request id <code>{id}</code>
    </Text>
  );
}
