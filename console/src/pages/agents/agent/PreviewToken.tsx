/** The claims that a token of the agent would have now, or the refusal and its reason. Issues nothing. */

import { Alert, Autocomplete, Button, Stack, TagsInput, Text } from '@mantine/core';
import { useState } from 'react';
import type { Agent, TokenPreview } from '../../../api/generated.ts';
import { useAction, useApi } from '../../../api/queries.ts';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { Dialog, DialogFooter, type DialogProps } from '../../../components/Dialog.tsx';
import { Icon } from '../../../components/Icon.tsx';
import { JsonView } from '../../../components/JsonView.tsx';
import { visibleText } from '../../../components/TenantText.tsx';

interface PreviewTokenProps extends DialogProps {
  readonly agent: Agent;
}

export function PreviewToken({ agent, opened, onClose }: PreviewTokenProps) {
  const [resource, setResource] = useState('');
  const [scopes, setScopes] = useState<string[]>([]);
  const grants = useApi(
    'listAgentGrants',
    { params: { agentId: agent.agentId }, query: { limit: 100 } },
    { enabled: opened },
  );
  const preview = useAction('previewToken');
  const granted = grants.data?.data ?? [];
  const held = granted.find(({ identifier }) => identifier === resource);
  const choices = resource === '' ? agent.allowedScopes : (held?.scopes ?? []);
  const body = {
    agentId: agent.agentId,
    ...(resource !== '' && { resource }),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  };
  const changeResource = (identifier: string) => {
    setResource(identifier);
    setScopes([]);
    preview.reset();
  };
  return (
    <Dialog opened={opened} onClose={onClose} title="Preview a token" size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          preview.mutate({ body });
        }}
      >
        <Stack>
          <Text size="sm" c="dimmed">
            Shows the token that POST /token would issue now, or the refusal and its reason. Nothing is issued
            or recorded.
          </Text>
          <Autocomplete
            label="API"
            description="The identifier of an API; leave it empty for the Countersign API"
            placeholder="Countersign API"
            data={[...new Set(granted.map(({ identifier }) => identifier))]}
            maxLength={1024}
            value={resource}
            onChange={changeResource}
            data-autofocus
          />
          <TagsInput
            label="Scopes"
            description="Leave it empty for all that the agent may hold. Any other scope shows the refusal."
            placeholder={scopes.length === 0 ? 'All that it may hold' : ''}
            data={[...new Set(choices)]}
            // Below it are the buttons, which an open list would cover.
            comboboxProps={{ position: 'top-start' }}
            splitChars={[',', ' ']}
            acceptValueOnBlur
            value={scopes}
            onChange={(next) => {
              setScopes(next);
              preview.reset();
            }}
            clearable
            clearButtonProps={{ 'aria-label': 'Clear scopes' }}
          />
          <div aria-live="polite">{preview.data && <Verdict preview={preview.data} />}</div>
        </Stack>
        <DialogFooter
          error={preview.error}
          errorTitle="The preview failed"
          aside={<CopyAs operation="previewToken" input={{ body }} />}
        >
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          <Button type="submit" loading={preview.isPending}>
            Preview token
          </Button>
        </DialogFooter>
      </form>
    </Dialog>
  );
}

function Verdict({ preview: { allowed, claims, error, reason } }: { readonly preview: TokenPreview }) {
  return allowed ? (
    <Stack gap="xs">
      <Alert color="green" icon={<Icon name="check" />} title="A token would be issued">
        These are its claims. Its id and its credential are null, because nothing was issued.
      </Alert>
      <JsonView value={claims} label="Claims of the token" />
    </Stack>
  ) : (
    <Alert color="red" icon={<Icon name="warning" />} title="The token would be refused">
      <Text size="sm">{visibleText(reason ?? '')}</Text>
      <Text size="xs" c="dimmed" mt={4}>
        Error <code>{error}</code>
      </Text>
    </Alert>
  );
}
