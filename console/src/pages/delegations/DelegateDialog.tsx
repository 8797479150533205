import { Alert, Checkbox, Group, NumberInput, Select, Stack, Text, Textarea } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useState } from 'react';
import { type CreatedDelegation, type NewDelegation, scopeDescriptions } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { useSession } from '../../app/session-context.tsx';
import { AgentSelect } from '../../components/AgentSelect.tsx';
import type { DialogProps } from '../../components/FormDialog.tsx';
import { FormDialog } from '../../components/FormDialog.tsx';
import { SecretOnce } from '../../components/SecretOnce.tsx';
import { TenantText, visibleText } from '../../components/TenantText.tsx';
import { useGraphRefresh } from './use-graph.ts';

interface DelegateDialogProps extends DialogProps {
  /** Called with the id of the new chain, after its token was stored. */
  readonly onDone: (chainId: string) => void;
}

const ownApi = '';
const units = { minutes: 60, hours: 3_600 } as const;
type Unit = keyof typeof units;

interface Values extends Record<string, unknown> {
  delegateeId: string;
  resource: string;
  scopes: string[];
  amount: number | string;
  unit: Unit;
  purpose: string;
  allowRedelegation: boolean;
  parentToken: string;
}

const initialValues: Values = {
  delegateeId: '',
  resource: ownApi,
  scopes: [],
  amount: 1,
  unit: 'hours',
  purpose: '',
  allowRedelegation: false,
  parentToken: '',
};

const secondsOf = ({ amount, unit }: Values): number => Math.round(Number(amount) * units[unit]);

const bodyOf = (values: Values): NewDelegation => {
  const parentToken = values.parentToken.trim();
  return {
    delegateeId: values.delegateeId,
    scopes: values.scopes,
    expiresIn: secondsOf(values),
    ...(values.resource !== ownApi && parentToken === '' && { resource: [values.resource] }),
    ...(values.purpose.trim() !== '' && { purpose: values.purpose.trim() }),
    ...(values.allowRedelegation && { allowRedelegation: true }),
    ...(parentToken !== '' && { parentToken }),
  } as NewDelegation;
};

function validate(values: Values): Partial<Record<keyof Values, string>> {
  const seconds = secondsOf(values);
  return {
    ...(values.delegateeId === '' && { delegateeId: 'Choose the agent that may act on your behalf.' }),
    ...(values.scopes.length === 0 && { scopes: 'Choose at least one scope.' }),
    ...(!(seconds >= 60 && seconds <= 86_400) && { amount: 'Between 1 minute and 24 hours.' }),
  };
}

/** Lends scopes of the session's agent, or passes on a delegation that it holds. */
export function DelegateDialog({ opened, onClose, onDone }: DelegateDialogProps) {
  const session = useSession();
  const refreshGraph = useGraphRefresh();
  const [created, setCreated] = useState<CreatedDelegation>();
  const finish = () => {
    if (created) onDone(created.chainId);
    setCreated(undefined);
  };
  return (
    <>
      <FormDialog
        opened={opened}
        onClose={onClose}
        title="Delegate"
        submitLabel="Delegate"
        initialValues={initialValues}
        validate={validate}
        operation="createDelegation"
        inputOf={(values) => ({ body: bodyOf(values) })}
        refreshes={['/delegations']}
        onDone={(delegation) => {
          refreshGraph();
          setCreated(delegation);
        }}
      >
        {(form) => (
          <>
            <Text size="sm">
              Another agent may act on behalf of <TenantText text={session.agentName} />, with the scopes that
              you choose here and no others.
            </Text>
            <Fields form={form} />
          </>
        )}
      </FormDialog>
      <SecretOnce
        secret={created?.delegationToken}
        onClose={finish}
        name="Delegation token"
        fileName="delegation"
        note="Give it to the delegatee, which exchanges it at POST /api/v1/token for an access token. The server does not store it."
        variables={{ DELEGATION_TOKEN: created?.delegationToken ?? '', CHAIN_ID: created?.chainId ?? '' }}
      />
    </>
  );
}

function Fields({ form }: { readonly form: UseFormReturnType<Values> }) {
  const session = useSession();
  const { resource, parentToken } = form.values;
  const apis = useLendableApis();
  const parent = contentOf(parentToken);
  const lendable = parent
    ? parent.scopes
    : (apis.find(({ identifier }) => identifier === resource)?.scopes ?? []);
  return (
    <>
      <AgentSelect
        label="Delegatee"
        description="An active agent of your organization. It needs none of the scopes itself."
        required
        organizationId={session.organizationId}
        except={session.agentId === null ? [] : [session.agentId]}
        {...form.getInputProps('delegateeId')}
      />
      {parentToken.trim() === '' && (
        <Select
          label="API"
          data={apis.map(({ identifier, label }) => ({ value: identifier, label }))}
          value={resource}
          onChange={(next) => {
            form.setFieldValue('resource', next ?? ownApi);
            form.setFieldValue('scopes', []);
          }}
          allowDeselect={false}
          error={form.errors.resource}
        />
      )}
      <ScopeChoice form={form} lendable={lendable} />
      <Group align="flex-start" grow>
        <NumberInput label="Ends after" min={1} allowNegative={false} {...form.getInputProps('amount')} />
        <Select
          label="Unit"
          data={Object.keys(units)}
          allowDeselect={false}
          {...form.getInputProps('unit')}
        />
      </Group>
      <Textarea label="Purpose" maxLength={256} minRows={1} {...form.getInputProps('purpose')} />
      <Checkbox
        label="The delegatee may pass it on"
        description="With the same or fewer scopes, and never longer than this."
        {...form.getInputProps('allowRedelegation', { type: 'checkbox' })}
      />
      <PassOn form={form} parent={parent} />
    </>
  );
}

interface ScopeChoiceProps {
  readonly form: UseFormReturnType<Values>;
  readonly lendable: readonly string[];
}

/** Only the scopes that may be lent. */
function ScopeChoice({ form, lendable }: ScopeChoiceProps) {
  if (lendable.length === 0)
    return (
      <Alert color="yellow" role="note">
        Your session has no scopes of this API that it can lend.
      </Alert>
    );
  return (
    <Checkbox.Group
      label="Scopes"
      required
      value={form.values.scopes}
      onChange={(scopes) => form.setFieldValue('scopes', scopes)}
      error={form.errors.scopes}
    >
      <Stack gap={6} mt={4}>
        {lendable.map((scope) => (
          <Checkbox
            key={scope}
            value={scope}
            label={<code>{visibleText(scope)}</code>}
            description={(scopeDescriptions as Readonly<Record<string, string>>)[scope]}
          />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}

interface PassOnProps {
  readonly form: UseFormReturnType<Values>;
  readonly parent: object | undefined;
}

function PassOn({ form, parent }: PassOnProps) {
  const { parentToken } = form.values;
  return (
    <Textarea
      label="Delegation token to pass on"
      description="Only if you were given a delegation yourself: paste its token, and choose from its scopes above."
      autoComplete="off"
      spellCheck={false}
      maxRows={4}
      value={parentToken}
      onChange={(event) => {
        form.setFieldValue('parentToken', event.currentTarget.value);
        form.setFieldValue('scopes', []);
      }}
      error={
        form.errors.parentToken ?? (parentToken.trim() !== '' && !parent && 'This is no delegation token.')
      }
    />
  );
}

/** Our own API and the APIs that the session's agent has a grant for, with the scopes that it can lend of each. */
function useLendableApis() {
  const session = useSession();
  const grants = useApi(
    'listAgentGrants',
    { params: { agentId: session.agentId ?? '' }, query: { limit: 100 } },
    { enabled: session.agentId !== null && session.scopes.includes('agents:read') },
  );
  return [
    {
      identifier: ownApi,
      label: 'Countersign API',
      scopes: session.scopes.filter((scope) => scope !== 'admin:orgs'),
    },
    ...(grants.data?.data ?? []).map(({ identifier, scopes }) => ({
      identifier,
      label: visibleText(identifier),
      scopes,
    })),
  ];
}

/** Reads a delegation token for the form; the server verifies it. Undefined for text that is none. */
function contentOf(token: string): { readonly scopes: readonly string[] } | undefined {
  const [header, payload] = token.trim().split('.');
  const claims = decode(payload);
  if (decode(header)?.typ !== 'delegation+jwt' || typeof claims?.scope !== 'string') return undefined;
  return { scopes: claims.scope.split(' ').filter((scope) => scope !== '') };
}

function decode(part: string | undefined): Record<string, unknown> | undefined {
  try {
    const bytes = Uint8Array.from(atob((part ?? '').replaceAll('-', '+').replaceAll('_', '/')), (char) =>
      char.charCodeAt(0),
    );
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
