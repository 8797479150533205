import { Alert, Checkbox, Group, NumberInput, Select, Text, Textarea } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useAgentById } from '../../api/agent-names.ts';
import {
  type Agent,
  type CreatedDelegation,
  type Grant,
  type NewDelegation,
  scopeDescriptions,
} from '../../api/generated.ts';
import { call } from '../../api/request.ts';
import { useMayLendForOthers, useSession } from '../../app/session-context.tsx';
import { AgentSelect } from '../../components/AgentSelect.tsx';
import { CheckList } from '../../components/CheckList.tsx';
import { ErrorAlert } from '../../components/ErrorAlert.tsx';
import type { DialogProps } from '../../components/FormDialog.tsx';
import { FormDialog } from '../../components/FormDialog.tsx';
import type { RequiredFields } from '../../components/required-fields.ts';
import { SecretOnce } from '../../components/SecretOnce.tsx';
import { TenantText, visibleText } from '../../components/TenantText.tsx';
import { useGraphRefresh } from './use-graph.ts';

interface DelegateDialogProps extends DialogProps {
  /** The agent that lends, if the session may lend for others. By default the session's own. */
  readonly lender?: string | undefined;
  /** Called with the id of the new chain, after its token was stored. */
  readonly onDone: (chainId: string) => void;
}

const ownApi = '';
const units = { minutes: 60, hours: 3_600 } as const;
type Unit = keyof typeof units;

interface Values extends Record<string, unknown> {
  delegatorId: string;
  delegateeId: string;
  resource: string;
  scopes: string[];
  amount: number | string;
  unit: Unit;
  purpose: string;
  allowRedelegation: boolean;
  parentToken: string;
}

const newValues = (delegatorId: string): Values => ({
  delegatorId,
  delegateeId: '',
  resource: ownApi,
  scopes: [],
  amount: 1,
  unit: 'hours',
  purpose: '',
  allowRedelegation: false,
  parentToken: '',
});

const secondsOf = ({ amount, unit }: Values): number => Math.round(Number(amount) * units[unit]);

const bodyOf = (values: Values, own: string | null): NewDelegation => {
  const parentToken = values.parentToken.trim();
  return {
    ...(values.delegatorId !== own && { delegatorId: values.delegatorId }),
    delegateeId: values.delegateeId,
    scopes: values.scopes,
    expiresIn: secondsOf(values),
    ...(values.resource !== ownApi && parentToken === '' && { resource: [values.resource] }),
    ...(values.purpose.trim() !== '' && { purpose: values.purpose.trim() }),
    ...(values.allowRedelegation && { allowRedelegation: true }),
    ...(parentToken !== '' && { parentToken }),
  } as NewDelegation;
};

const required: RequiredFields<Values> = {
  delegatorId: 'Choose the agent whose scopes are lent.',
  delegateeId: 'Choose the agent that may act on its behalf.',
  scopes: 'Choose at least one scope.',
  amount: 'Between 1 minute and 24 hours.',
};

function validate(values: Values): Partial<Record<keyof Values, string>> {
  const seconds = secondsOf(values);
  return {
    ...(!(seconds >= 60 && seconds <= 86_400) && { amount: 'Between 1 minute and 24 hours.' }),
  };
}

/** Lends scopes of the session's agent, passes on a delegation that it holds, or lends for another agent. */
export function DelegateDialog({ opened, onClose, lender, onDone }: DelegateDialogProps) {
  const session = useSession();
  const mayLendForOthers = useMayLendForOthers();
  const delegatorId = (mayLendForOthers ? lender : undefined) ?? session.agentId ?? '';
  const refreshGraph = useGraphRefresh();
  const [created, setCreated] = useState<CreatedDelegation>();
  const finish = () => {
    if (created) onDone(created.chainId);
    setCreated(undefined);
  };
  return (
    <>
      <FormDialog
        key={delegatorId}
        opened={opened}
        onClose={onClose}
        title="Delegate"
        submitLabel="Delegate"
        initialValues={newValues(delegatorId)}
        required={required}
        validate={validate}
        operation="createDelegation"
        inputOf={(values) => ({ body: bodyOf(values, session.agentId) })}
        refreshes={['/delegations']}
        onDone={(delegation) => {
          refreshGraph();
          setCreated(delegation);
        }}
      >
        {(form) => (
          <>
            <Text size="sm">
              {mayLendForOthers ? (
                'One agent may act on behalf of another'
              ) : (
                <>
                  Another agent may act on behalf of <TenantText text={session.agentName} />
                </>
              )}
              , with the scopes that you choose here and no others.
            </Text>
            <Fields form={form} mayLendForOthers={mayLendForOthers} />
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

interface FieldsProps {
  readonly form: UseFormReturnType<Values>;
  readonly mayLendForOthers: boolean;
}

function Fields({ form, mayLendForOthers }: FieldsProps) {
  const session = useSession();
  const { resource, parentToken, delegatorId } = form.values;
  const delegator = useAgentById(delegatorId === session.agentId ? undefined : delegatorId);
  const { apis, error } = useLendableApis(delegatorId, delegator);
  const parent = contentOf(parentToken);
  const lendable = parent
    ? parent.scopes
    : (apis.find(({ identifier }) => identifier === resource)?.scopes ?? []);
  return (
    <>
      {mayLendForOthers && (
        <AgentSelect
          label="Delegator"
          description="The agent whose scopes are lent. For another agent than your own you need the right to give it a secret."
          {...form.getInputProps('delegatorId')}
          onChange={(next) => {
            form.setFieldValue('delegatorId', next);
            form.setFieldValue('resource', ownApi);
            form.setFieldValue('scopes', []);
            if (next !== session.agentId) form.setFieldValue('parentToken', '');
          }}
        />
      )}
      <AgentSelect
        label="Delegatee"
        description="An active agent of the same organization. It needs none of the scopes itself."
        organizationId={delegator?.organizationId ?? session.organizationId}
        except={[delegatorId]}
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
          searchable={apis.length > 10}
          error={form.errors.resource}
        />
      )}
      {error && <ErrorAlert error={error} title="The APIs of this agent are not known" />}
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
      {delegatorId === session.agentId && <PassOn form={form} parent={parent} />}
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
        The agent has no scopes of this API that it can lend.
      </Alert>
    );
  return (
    <CheckList
      label="Scopes"
      {...form.getInputProps('scopes')}
      choices={lendable.map((scope) => ({
        value: scope,
        description: (scopeDescriptions as Readonly<Record<string, string>>)[scope],
      }))}
    />
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

/** Our own API, and every API that the agent has a grant for, with the scopes that can be lent of each. */
function useLendableApis(delegatorId: string, delegator: Agent | null | undefined) {
  const session = useSession();
  const isOwn = delegatorId === session.agentId;
  const grants = useQuery({
    // The id of an operation comes first, so that events refresh it.
    queryKey: ['listAgentGrants', 'all', delegatorId],
    queryFn: ({ signal }) => fetchGrants(delegatorId, signal),
    enabled: delegatorId !== '' && session.scopes.includes('agents:read'),
  });
  const own = isOwn ? session.scopes : (delegator?.allowedScopes ?? []);
  const apis = [
    {
      identifier: ownApi,
      label: 'Countersign API',
      scopes: own.filter((scope) => scope !== 'admin:orgs'),
    },
    ...(grants.data ?? []).map(({ identifier, scopes }) => ({
      identifier,
      label: visibleText(identifier),
      scopes,
    })),
  ];
  return { apis, error: grants.error };
}

const maxGrants = 100;

/** All pages. */
async function fetchGrants(agentId: string, signal: AbortSignal): Promise<Grant[]> {
  const grants: Grant[] = [];
  for (let page = 1; ; page++) {
    const query = { page, limit: maxGrants };
    const answer = await call('listAgentGrants', { params: { agentId }, query }, { signal });
    grants.push(...answer.data);
    if (answer.data.length < maxGrants || grants.length >= answer.total) return grants;
  }
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
