import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { FederationPartner } from '../../api/generated.ts';
import { useAction, useApi } from '../../api/queries.ts';
import { usePageSearch } from '../../app/navigation.tsx';
import { useCan } from '../../app/session-context.tsx';
import { ConfirmEnding } from '../../components/ConfirmEnding.tsx';
import { CopyAsCurl } from '../../components/CopyAsCurl.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { ExternalLink } from '../../components/ExternalLink.tsx';
import { FormDialog } from '../../components/FormDialog.tsx';
import { useFrozen } from '../../components/frozen.ts';
import { Icon } from '../../components/Icon.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { showDone } from '../../components/notices.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { trustPage } from './page.ts';
import classes from './Trust.module.css';

const columns: readonly Column<FederationPartner>[] = [
  { id: 'name', header: 'Name', cell: ({ name }) => <TenantText text={name} /> },
  { id: 'issuer', header: 'Issuer', cell: ({ issuer }) => <TenantText text={issuer} /> },
  { id: 'added', header: 'Added', cell: ({ createdAt }) => <RelativeTime time={createdAt} />, width: '9rem' },
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
          action: mayManage && <Button onClick={() => setSearch({ create: true })}>Add partner</Button>,
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
  const { id, name, issuer, jwksUri, createdAt, updatedAt } = partner;
  const [dialog, setDialog] = useState<'edit' | 'remove'>();
  const close = () => setDialog(undefined);
  const edited = useFrozen(partner, dialog);
  const remove = useAction('removePartner', { refreshes: ['/federation'] });
  return (
    <Stack gap="sm">
      <dl className={classes.facts}>
        <div>
          <dt>Issuer</dt>
          <dd>
            <ExternalLink href={issuer} />
          </dd>
        </div>
        <div>
          <dt>Keys</dt>
          <dd>
            <ExternalLink href={jwksUri} />
          </dd>
        </div>
        <div>
          <dt>Added</dt>
          <dd>
            <RelativeTime time={createdAt} />
          </dd>
        </div>
        <div>
          <dt>Changed</dt>
          <dd>
            <RelativeTime time={updatedAt} />
          </dd>
        </div>
        <div>
          <dt>Partner id</dt>
          <dd>
            <code>{id}</code>
          </dd>
        </div>
      </dl>
      <Group gap="xs">
        {mayManage && (
          <>
            <Button
              variant="default"
              leftSection={<Icon name="edit" size={14} />}
              onClick={() => setDialog('edit')}
            >
              Edit
            </Button>
            <Button
              variant="default"
              leftSection={<Icon name="trash" size={14} />}
              onClick={() => setDialog('remove')}
            >
              Remove
            </Button>
          </>
        )}
        <CopyAsCurl operation="getPartner" input={{ params: { id } }} />
      </Group>
      <PartnerDialog
        key={`${id} ${edited.updatedAt}`}
        partner={edited}
        opened={dialog === 'edit'}
        onClose={close}
      />
      <ConfirmEnding
        opened={dialog === 'remove'}
        onClose={close}
        title="Remove this partner?"
        confirmLabel="Remove"
        onConfirm={async () => {
          await remove.mutateAsync({ params: { id } });
          showDone('Partner removed');
          onGone();
        }}
        extra={<CopyAsCurl operation="removePartner" input={{ params: { id } }} />}
      >
        Tokens of <TenantText text={name} /> are refused at once, by every agent that asks this instance.
      </ConfirmEnding>
    </Stack>
  );
}

interface PartnerValues extends Record<string, unknown> {
  name: string;
  issuer: string;
  jwksUri: string;
}

interface PartnerDialogProps {
  /** Without it the dialog adds one. */
  readonly partner?: FederationPartner;
  readonly opened: boolean;
  readonly onClose: () => void;
}

function PartnerDialog({ partner, opened, onClose }: PartnerDialogProps) {
  const add = useAction('trustPartner', { refreshes: ['/federation'] });
  const update = useAction('updatePartner', { refreshes: ['/federation'] });
  const submit = async (body: PartnerValues) => {
    if (partner) await update.mutateAsync({ params: { id: partner.id }, body });
    else await add.mutateAsync({ body });
    showDone(partner ? 'Partner changed' : 'Partner added');
  };
  return (
    <FormDialog<PartnerValues>
      opened={opened}
      onClose={onClose}
      title={partner ? 'Edit partner' : 'Add partner'}
      submitLabel={partner ? 'Save' : 'Add'}
      initialValues={{
        name: partner?.name ?? '',
        issuer: partner?.issuer ?? '',
        jwksUri: partner?.jwksUri ?? '',
      }}
      onSubmit={submit}
      extra={(body) =>
        partner ? (
          <CopyAsCurl operation="updatePartner" input={{ params: { id: partner.id }, body }} />
        ) : (
          <CopyAsCurl operation="trustPartner" input={{ body }} />
        )
      }
    >
      {(form) => (
        <>
          <TextInput label="Name" required maxLength={128} {...form.getInputProps('name')} />
          <TextInput
            label="Issuer"
            required
            description="The iss of its tokens."
            placeholder="https://idp.partner.example"
            {...form.getInputProps('issuer')}
          />
          <TextInput
            label="Address of its keys"
            required
            placeholder="https://idp.partner.example/jwks.json"
            {...form.getInputProps('jwksUri')}
          />
        </>
      )}
    </FormDialog>
  );
}
