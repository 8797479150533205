import { Stack } from '@mantine/core';
import type { Resource } from '../../api/generated.ts';
import { EmptyState } from '../../components/EmptyState.tsx';
import { JsonView } from '../../components/JsonView.tsx';
import { Section } from '../../components/Section.tsx';
import { TenantText, visibleText } from '../../components/TenantText.tsx';

/** The kinds of action of an API that a request for approval or consent can name exactly. */
export function ActionTypes({ resource: { authorizationDetailTypes } }: { readonly resource: Resource }) {
  if (authorizationDetailTypes.length === 0)
    return (
      <EmptyState
        icon="apis"
        title="No actions described"
        text="Describe a kind of action, such as a payment with amount and currency: agents can then ask for exactly one, and its token carries the fields that a person approved."
      />
    );
  return (
    <Stack gap="md">
      {authorizationDetailTypes.map(({ type, description, schema }) => (
        <Section
          key={type}
          title={visibleText(type)}
          description={<TenantText text={description} multiline fallback="No description." />}
        >
          <JsonView value={schema} label={`JSON Schema of ${visibleText(type)}`} maxHeight={320} />
        </Section>
      ))}
    </Stack>
  );
}
