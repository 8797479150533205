import { Group, Stack, Tabs, Text } from '@mantine/core';
import type { Resource } from '../../api/generated.ts';
import { CodeBlock } from '../../components/CodeBlock.tsx';
import { CopyButton } from '../../components/CopyButton.tsx';
import { DocsLink } from '../../components/DocsLink.tsx';
import { snippetsFor } from './snippets.ts';

/** How the API verifies tokens: code to copy. */
export function Verification({ resource }: { readonly resource: Resource }) {
  const snippets = snippetsFor(resource, location.origin);
  return (
    <Stack gap="sm">
      <Text size="sm" maw="48rem">
        Your API checks the signature with the published keys, and that the token is an access token (
        <code>typ</code>) of this issuer, for this audience, not expired, and with the scope that the call
        needs. Complete programs for Fastify, Express, FastAPI, Go and MCP servers are in the guide{' '}
        <DocsLink page="guides/protecting-your-api">Protect your API</DocsLink>; the{' '}
        <DocsLink page="api">API reference</DocsLink> has every operation.
      </Text>
      <Tabs defaultValue="node" variant="outline" keepMounted={false}>
        <Tabs.List mb="sm">
          {snippets.map(({ id, label }) => (
            <Tabs.Tab key={id} value={id}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {snippets.map(({ id, label, text }) => (
          <Tabs.Panel key={id} value={id}>
            <Group justify="flex-end" mb="xs">
              <CopyButton text={text} label="Copy code" />
            </Group>
            <CodeBlock text={text} label={`${label} code`} maxHeight={640} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  );
}
