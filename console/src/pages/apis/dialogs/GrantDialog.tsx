import { Alert, Text } from '@mantine/core';
import type { Grant, Resource } from '../../../api/generated.ts';
import { AgentName } from '../../../components/AgentName.tsx';
import { AgentSelect } from '../../../components/AgentSelect.tsx';
import { CheckList } from '../../../components/CheckList.tsx';
import { EarlierGrant } from '../../../components/EarlierGrant.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { Icon } from '../../../components/Icon.tsx';
import { offlineVerificationNote } from '../../../components/offline-verification.ts';
import { TenantText } from '../../../components/TenantText.tsx';

interface Values extends Record<string, unknown> {
  agentId: string;
  scopes: string[];
}

interface GrantDialogProps {
  readonly resource: Resource;
  /** An existing grant to change; otherwise an agent is chosen. */
  readonly grant?: Grant;
  readonly onClose: () => void;
  readonly onGranted?: () => void;
}

const grantable = ['active', 'suspended'] as const;

/** Sets which scopes of an API an agent may hold. Mounted while it is open. */
export function GrantDialog({ resource, grant, onClose, onGranted }: GrantDialogProps) {
  const { resourceId } = resource;
  const inputOf = ({ agentId, scopes }: Values) => ({ params: { agentId, resourceId }, body: { scopes } });
  return (
    <FormDialog
      opened
      onClose={onClose}
      title={grant ? 'Change the grant' : 'Grant scopes to an agent'}
      submitLabel={grant ? 'Save grant' : 'Grant scopes'}
      initialValues={{ agentId: grant?.agentId ?? '', scopes: grant?.scopes ?? [] }}
      required={({ agentId }) => ({
        agentId: 'Choose an agent.',
        ...(agentId !== '' && { scopes: 'Choose at least one scope.' }),
      })}
      operation="putAgentGrant"
      inputOf={inputOf}
      refreshes={['/resources', '/agents']}
      doneMessage={grant ? 'Grant changed' : 'Scopes granted'}
      onDone={onGranted}
    >
      {(form) => {
        const { agentId } = form.values;
        const scopeList = (
          <CheckList
            label="Scopes"
            description="Its tokens for this API carry at most these."
            disabled={agentId === ''}
            choices={resource.scopes.map(({ name, description }) => ({
              value: name,
              description: description && <TenantText text={description} />,
            }))}
            {...form.getInputProps('scopes')}
          />
        );
        if (grant)
          return (
            <>
              <Text size="sm">
                Agent <AgentName agentId={agentId} link={false} />
              </Text>
              {scopeList}
              <LostScopes before={grant.scopes} after={form.values.scopes} />
            </>
          );
        return (
          <>
            <AgentSelect
              label="Agent"
              required
              data-autofocus
              statuses={grantable}
              value={agentId}
              onChange={(next) => next !== agentId && form.setValues({ agentId: next, scopes: [] })}
              error={form.errors.agentId}
            />
            {agentId === '' ? (
              scopeList
            ) : (
              <EarlierGrant
                key={agentId}
                agentId={agentId}
                resourceId={resourceId}
                onScopes={(scopes) => form.setFieldValue('scopes', scopes)}
              >
                {(earlier) => (
                  <>
                    {earlier.length > 0 && (
                      <Alert icon={<Icon name="key" />}>
                        This agent holds a grant already. What you save replaces it.
                        <LostScopes before={earlier} after={form.values.scopes} />
                      </Alert>
                    )}
                    {scopeList}
                  </>
                )}
              </EarlierGrant>
            )}
          </>
        );
      }}
    </FormDialog>
  );
}

interface LostScopesProps {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

function LostScopes({ before, after }: LostScopesProps) {
  const lost = before.filter((scope) => !after.includes(scope));
  if (lost.length === 0) return null;
  return (
    <Text size="sm" mt="xs" role="status">
      Ends at once: {lost.join(', ')}, with the tokens that have {lost.length === 1 ? 'it' : 'them'}, for
      introspection. {offlineVerificationNote()}
    </Text>
  );
}
