import { Checkbox, Group, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { FederationPartner } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { usePageSearch } from '../../app/navigation.tsx';
import { useCan } from '../../app/session-context.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { timeColumn } from '../../components/DataTable.tsx';
import { ExternalLink } from '../../components/ExternalLink.tsx';
import { Facts } from '../../components/Facts.tsx';
import type { DialogProps } from '../../components/FormDialog.tsx';
import { FormDialog } from '../../components/FormDialog.tsx';
import { useFrozen } from '../../components/frozen.ts';
import { IconButton } from '../../components/IconButton.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { trustPage } from './page.ts';

const columns: readonly Column<FederationPartner>[] = [
  { header: 'Name', cell: ({ name }) => <TenantText text={name} /> },
  { header: 'Issuer', cell: ({ issuer }) => <TenantText text={issuer} /> },
  timeColumn('Added', ({ createdAt }) => createdAt),
];

/** The federation partners of the instance: for the operator, unless the policies of the instance say otherwise. */
export function Partners() {
  const can = useCan();
  const [search, setSearch] = usePageSearch(trustPage);
  const list = useApi('listPartners', {});
  const mayManage = can('admin:orgs');
  return (
    <>
      <ListPage
        title="Federation partners"
        withTitle={false}
        noun="partners"
        query={{ ...list, data: list.data && { data: list.data }, refetch: list.refetch as never }}
        columns={columns}
        rowId={({ id }) => id}
        search={search}
        onSearch={setSearch}
        empty={{
          title: 'No federation partners',
          text: 'A partner is another identity provider. Agents here can ask whether a token of it is valid.',
          icon: 'trust',
        }}
        detail={{
          title: (_, row) => (row ? <TenantText text={row.name} /> : 'Partner'),
          render: (_, row) =>
            row ? (
              <PartnerDetail
                partner={row}
                mayManage={mayManage}
                onGone={() => setSearch({ selected: undefined })}
              />
            ) : (
              'This partner does not exist.'
            ),
        }}
      />
      <PartnerDialog opened={search.create && mayManage} onClose={() => setSearch({ create: false })} />
    </>
  );
}

interface PartnerDetailProps {
  readonly partner: FederationPartner;
  readonly mayManage: boolean;
  readonly onGone: () => void;
}

function PartnerDetail({ partner, mayManage, onGone }: PartnerDetailProps) {
  const { id, name, issuer, jwksUri, idJag, createdAt, updatedAt } = partner;
  const [dialog, setDialog] = useState<'edit' | 'remove'>();
  const close = () => setDialog(undefined);
  const edited = useFrozen(partner, dialog);
  return (
    <Stack gap="sm">
      <Facts
        facts={{
          Issuer: <ExternalLink href={issuer} />,
          Keys: <ExternalLink href={jwksUri} />,
          'Identity assertions': idJag
            ? 'issued: agents get assertions about people for it (ID-JAG)'
            : 'not issued for it',
          Added: <RelativeTime time={createdAt} />,
          Changed: <RelativeTime time={updatedAt} />,
          'Partner id': <code>{id}</code>,
        }}
      />
      <Group gap="xs">
        {mayManage && (
          <>
            <IconButton variant="default" icon="edit" onClick={() => setDialog('edit')}>
              Edit
            </IconButton>
            <IconButton variant="default" icon="trash" onClick={() => setDialog('remove')}>
              Remove
            </IconButton>
          </>
        )}
        <CopyAs operation="getPartner" input={{ params: { id } }} />
      </Group>
      <PartnerDialog
        key={`${id} ${edited.updatedAt}`}
        partner={edited}
        opened={dialog === 'edit'}
        onClose={close}
      />
      <ConfirmDialog
        opened={dialog === 'remove'}
        onClose={close}
        title="Remove this partner?"
        confirmLabel="Remove partner"
        operation="removePartner"
        input={{ params: { id } }}
        refreshes={['/federation']}
        doneMessage="Partner removed"
        onDone={onGone}
      >
        Tokens of <TenantText text={name} /> are refused at once, by every agent that asks this instance.
      </ConfirmDialog>
    </Stack>
  );
}

interface PartnerValues extends Record<string, unknown> {
  name: string;
  issuer: string;
  jwksUri: string;
  idJag: boolean;
}

interface PartnerDialogProps extends DialogProps {
  /** Without it the dialog adds one. */
  readonly partner?: FederationPartner;
}

function PartnerDialog({ partner, opened, onClose }: PartnerDialogProps) {
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={partner ? 'Edit partner' : 'Add partner'}
      submitLabel={partner ? 'Save partner' : 'Add partner'}
      initialValues={{
        name: partner?.name ?? '',
        issuer: partner?.issuer ?? '',
        jwksUri: partner?.jwksUri ?? '',
        idJag: partner?.idJag ?? false,
      }}
      required={{
        name: 'Give it a name.',
        issuer: 'Enter the address of its issuer.',
        jwksUri: 'Enter the address of its keys.',
      }}
      operation={partner ? 'updatePartner' : 'trustPartner'}
      inputOf={(body: PartnerValues) => (partner ? { params: { id: partner.id }, body } : { body })}
      refreshes={['/federation']}
      doneMessage={partner ? 'Partner changed' : 'Partner added'}
    >
      {(form) => (
        <>
          <TextInput label="Name" maxLength={128} {...form.getInputProps('name')} />
          <TextInput
            label="Issuer"
            description="The iss of its tokens."
            placeholder="https://idp.partner.example"
            {...form.getInputProps('issuer')}
          />
          <TextInput
            label="Address of its keys"
            placeholder="https://idp.partner.example/jwks.json"
            {...form.getInputProps('jwksUri')}
          />
          <Checkbox
            label="Issue identity assertions for it (ID-JAG)"
            description="An agent that acts for a person gets an assertion about that person, which it exchanges at the partner for a token of the partner."
            {...form.getInputProps('idJag', { type: 'checkbox' })}
          />
        </>
      )}
    </FormDialog>
  );
}
