import { Select, Text } from '@mantine/core';
import type { Organization } from '../../../api/generated.ts';
import { useAction } from '../../../api/queries.ts';
import { CopyAsCurl } from '../../../components/CopyAsCurl.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { showDone } from '../../../components/notices.tsx';
import { TenantText } from '../../../components/TenantText.tsx';
import { type PlanTier, planTiers } from './plan-tiers.ts';

interface Values extends Record<string, unknown> {
  planTier: PlanTier;
}

export function ConfigureOrganization({
  organization,
  opened,
  onClose,
}: {
  readonly organization: Organization;
  readonly opened: boolean;
  readonly onClose: () => void;
}) {
  const update = useAction('updateOrganization', { refreshes: ['/organizations'] });
  const inputOf = ({ planTier }: Values) => ({
    params: { orgId: organization.organizationId },
    body: { planTier },
  });
  return (
    <FormDialog<Values>
      opened={opened}
      onClose={onClose}
      title="Change the plan"
      submitLabel="Save plan"
      initialValues={{ planTier: organization.planTier }}
      onSubmit={async (values) => {
        await update.mutateAsync(inputOf(values));
        showDone('Plan saved.');
      }}
      extra={(values) => <CopyAsCurl operation="updateOrganization" input={inputOf(values)} />}
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
