import { Text, TextInput } from '@mantine/core';
import type { Resource, ResourceShare } from '../../../api/generated.ts';
import { CheckList } from '../../../components/CheckList.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { showDone } from '../../../components/notices.tsx';
import { TenantText } from '../../../components/TenantText.tsx';

interface Values extends Record<string, unknown> {
  organizationId: string;
  scopes: string[];
}

const isUuid = (text: string): boolean =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);

interface ShareDialogProps {
  readonly resource: Resource;
  /** An existing share to change. */
  readonly share?: Pick<ResourceShare, 'organizationId' | 'scopes' | 'offeredScopes'>;
  readonly onClose: () => void;
}

/** Shares scopes of an API with another organization. Mounted while it is open. */
export function ShareDialog({ resource, share, onClose }: ShareDialogProps) {
  const { resourceId } = resource;
  const inputOf = ({ organizationId, scopes }: Values) => ({
    params: { resourceId, organizationId: organizationId.trim() },
    body: { scopes },
  });
  const chosen = share ? [...new Set([...share.scopes, ...share.offeredScopes])] : [];
  const lostOf = (scopes: readonly string[]) =>
    (share?.scopes ?? []).filter((scope) => !scopes.includes(scope));
  return (
    <FormDialog
      opened
      onClose={onClose}
      title={share ? 'Change the share' : 'Share with an organization'}
      submitLabel={share ? 'Save share' : 'Share API'}
      initialValues={{ organizationId: share?.organizationId ?? '', scopes: chosen }}
      required={{ organizationId: 'Enter the id of the organization.', scopes: 'Choose at least one scope.' }}
      validate={({ organizationId }): { organizationId?: string } =>
        isUuid(organizationId.trim()) ? {} : { organizationId: 'The id of an organization is a UUID.' }
      }
      operation="putResourceShare"
      inputOf={inputOf}
      refreshes={['/resources']}
      onDone={({ status }) =>
        showDone(share ? 'Share changed' : status === 'offered' ? 'API offered' : 'API shared')
      }
    >
      {(form) => (
        <>
          <TextInput
            label="Organization id"
            description="The other organization finds it on its Organization page."
            placeholder="00000000-0000-0000-0000-000000000000"
            maxLength={64}
            readOnly={share !== undefined}
            {...(share === undefined && { 'data-autofocus': true })}
            {...form.getInputProps('organizationId')}
          />
          <CheckList
            label="Scopes"
            choices={resource.scopes.map(({ name, description }) => ({
              value: name,
              description: description && <TenantText text={description} />,
            }))}
            {...form.getInputProps('scopes')}
          />
          {lostOf(form.values.scopes).length > 0 && (
            <Text size="sm" role="status">
              Ends at once in the grants of its agents: {lostOf(form.values.scopes).join(', ')}
            </Text>
          )}
        </>
      )}
    </FormDialog>
  );
}
