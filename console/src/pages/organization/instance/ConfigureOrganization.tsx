import { Select, Text } from '@mantine/core';
import type { Organization, PlanTier } from '../../../api/generated.ts';
import { planTiers } from '../../../api/generated.ts';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { TenantText } from '../../../components/TenantText.tsx';

interface Values extends Record<string, unknown> {
  planTier: PlanTier;
}

export function ConfigureOrganization({
  organization,
  opened,
  onClose,
}: DialogProps & { readonly organization: Organization }) {
  const inputOf = ({ planTier }: Values) => ({
    params: { orgId: organization.organizationId },
    body: { planTier },
  });
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title="Change the plan"
      submitLabel="Save plan"
      initialValues={{ planTier: organization.planTier }}
      operation="updateOrganization"
      inputOf={inputOf}
      refreshes={['/organizations']}
      doneMessage="Plan saved."
    >
      {(form) => (
        <>
          <Text size="sm" component="div">
            The plan sets the limits of <TenantText text={organization.name} />. A lower plan does not remove
            agents.
          </Text>
          <Select
            label="Plan"
            data={[...planTiers]}
            allowDeselect={false}
            data-autofocus
            {...form.getInputProps('planTier')}
          />
        </>
      )}
    </FormDialog>
  );
}
