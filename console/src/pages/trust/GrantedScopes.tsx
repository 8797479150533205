import { Text } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useAgentById } from '../../api/agent-names.ts';
import { useApi } from '../../api/queries.ts';
import { CheckList } from '../../components/CheckList.tsx';
import { visibleText } from '../../components/TenantText.tsx';
import type { PolicyValues } from './policy-values.ts';

/** What the workload can get: scopes of the Countersign API and of the APIs that the agent has grants for. */
export function GrantedScopes({ form }: { readonly form: UseFormReturnType<PolicyValues> }) {
  const { agentId, scopes, resources } = form.values;
  const agent = useAgentById(agentId === '' ? undefined : agentId);
  const grants = useApi(
    'listAgentGrants',
    { params: { agentId }, query: { limit: 100 } },
    { enabled: agentId !== '' },
  );
  if (agentId === '')
    return (
      <Text size="sm" c="dimmed">
        Choose the agent to see its scopes.
      </Text>
    );
  const held = [...new Set([...(agent?.allowedScopes ?? []), ...scopes])];
  const apis = new Map((grants.data?.data ?? []).map((grant) => [grant.identifier, grant.scopes]));
  for (const [identifier, chosen] of Object.entries(resources))
    apis.set(identifier, [...new Set([...(apis.get(identifier) ?? []), ...chosen])]);
  return (
    <>
      <ScopeGroup
        label="Scopes of the Countersign API"
        held={held}
        chosen={scopes}
        onChange={(next) => form.setFieldValue('scopes', next)}
        error={form.errors.scopes}
      />
      {[...apis].map(([identifier, of]) => (
        <ScopeGroup
          key={identifier}
          label={`Scopes of ${visibleText(identifier)}`}
          held={of}
          chosen={resources[identifier] ?? []}
          onChange={(next) => form.setFieldValue('resources', { ...resources, [identifier]: next })}
          error={form.errors.resources}
        />
      ))}
    </>
  );
}

interface ScopeGroupProps {
  readonly label: string;
  readonly held: readonly string[];
  readonly chosen: readonly string[];
  readonly onChange: (scopes: string[]) => void;
  readonly error: React.ReactNode;
}

function ScopeGroup({ label, held, chosen, onChange, error }: ScopeGroupProps) {
  if (held.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {label}: the agent holds none.
      </Text>
    );
  return (
    <CheckList
      label={label}
      choices={held.map((scope) => ({ value: scope }))}
      value={chosen}
      onChange={onChange}
      error={error}
    />
  );
}
