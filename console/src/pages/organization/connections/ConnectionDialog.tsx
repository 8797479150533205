import { Checkbox, PasswordInput, TagsInput, Text, TextInput } from '@mantine/core';
import { Fragment } from 'react';
import type { Connection } from '../../../api/generated.ts';
import { ConditionsEditor } from '../../../components/ConditionsEditor.tsx';
import { CopyButton } from '../../../components/CopyButton.tsx';
import { DocsLink } from '../../../components/DocsLink.tsx';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import {
  type ConnectionValues,
  changeOf,
  newConnectionOf,
  problemsOf,
  redirectUri,
  requiredOf,
  valuesOf,
} from './connection-values.ts';

/** Useful in conditions; the last ones are of Google, Entra ID and Okta. */
const claims = ['email', 'email_verified', 'hd', 'tid', 'groups'];

interface ConnectionDialogProps extends DialogProps {
  readonly organizationId: string;
  /** Without it the dialog adds one. */
  readonly connection?: Connection;
}

export function ConnectionDialog({ organizationId, connection, opened, onClose }: ConnectionDialogProps) {
  const isNew = connection === undefined;
  const params = { orgId: organizationId };
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={isNew ? 'Add a connection' : 'Edit connection'}
      submitLabel={isNew ? 'Add connection' : 'Save connection'}
      size="lg"
      initialValues={valuesOf(connection)}
      required={requiredOf(isNew)}
      validate={problemsOf}
      operation={isNew ? 'createConnection' : 'updateConnection'}
      inputOf={(values: ConnectionValues) =>
        connection
          ? { params: { ...params, connectionId: connection.connectionId }, body: changeOf(values) }
          : { params, body: newConnectionOf(values) }
      }
      refreshes={['/organizations']}
      doneMessage={isNew ? 'Connection added. Test it before you tell people.' : 'Connection changed.'}
    >
      {(form) => (
        <>
          {isNew && <ProviderSetup />}
          <TextInput
            label="Name"
            description="On the button that people sign in with."
            maxLength={64}
            data-autofocus
            {...form.getInputProps('name')}
          />
          <TextInput
            label="Issuer"
            description={isNew ? 'The address of the provider. It cannot change later.' : 'It cannot change.'}
            placeholder="https://login.example.com"
            readOnly={!isNew}
            maxLength={1_024}
            inputMode="url"
            spellCheck={false}
            {...form.getInputProps('issuer')}
          />
          <TextInput
            label="Client ID"
            description="As the provider names this instance."
            maxLength={255}
            autoComplete="off"
            spellCheck={false}
            {...form.getInputProps('clientId')}
          />
          <PasswordInput
            label="Client secret"
            description={isNew ? 'Stored encrypted; no page shows it again.' : 'Empty: the stored one stays.'}
            maxLength={1_024}
            autoComplete="new-password"
            {...form.getInputProps('clientSecret')}
          />
          <TagsInput
            label="Scopes"
            description="What a sign-in asks the provider for. Press Enter after each."
            maxTags={20}
            splitChars={[',', ' ']}
            acceptValueOnBlur
            {...form.getInputProps('scopes')}
          />
          <ConditionsEditor
            form={form}
            suggestions={claims}
            none="None. Everybody who can sign in at the provider becomes a member of the organization."
          />
          <Checkbox
            label="Accept identity assertions (ID-JAG)"
            description="The provider may vouch for its people without a browser: an agent exchanges the provider's assertion for a token of an API of this organization. The conditions above hold for it, too."
            {...form.getInputProps('idJag', { type: 'checkbox' })}
          />
        </>
      )}
    </FormDialog>
  );
}

/** Each has the fields to copy. */
const guides = { google: 'Google', okta: 'Okta', 'entra-id': 'Entra ID', keycloak: 'Keycloak' };

/** What to do at the provider first. */
function ProviderSetup() {
  const address = redirectUri(location.origin);
  return (
    <Text size="sm" component="div">
      Register a web application at the provider first, with this redirect URI:{' '}
      <code style={{ overflowWrap: 'anywhere' }}>{address}</code>{' '}
      <CopyButton text={address} label="Copy redirect URI" size="compact-xs" />
      <br />
      Guides:{' '}
      {Object.entries(guides).map(([name, label], index) => (
        <Fragment key={name}>
          {index > 0 && ', '}
          <DocsLink page={`guides/connections/${name}`}>{label}</DocsLink>
        </Fragment>
      ))}
    </Text>
  );
}
