/** The first page without a session. It stays at the address that was asked for, which opens after the sign-in. */
import { Text } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useState } from 'react';
import { CardPage } from '../../app/CardPage.tsx';
import { providerReturn } from '../../app/sign-in-address.ts';
import { OrganizationChoice } from './OrganizationChoice.tsx';
import { ProviderAnswer } from './ProviderAnswer.tsx';
import { SignInForm } from './SignInForm.tsx';

export function SignInPage() {
  useDocumentTitle('Sign in · Countersign');
  const [returned] = useState(providerReturn);
  return (
    <CardPage title="Sign in to Countersign" description="The identity provider for AI agents">
      <ProviderAnswer {...returned} />
      {returned.choose ? (
        <OrganizationChoice />
      ) : (
        <>
          <SignInForm />
          <Text size="xs" c="dimmed">
            No credential at hand? On the machine of the server, <code>countersign console</code> prints a
            link that signs you in once.
          </Text>
        </>
      )}
    </CardPage>
  );
}
