import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Session } from '../api/session.ts';
import { TenantText } from '../components/TenantText.tsx';
import { sessionRole } from './session-role.ts';

/** "Admin of Acme", and what that role may do. */
export function SessionRole({ session }: { readonly session: Session }): ReactNode {
  const { name, ofOrganization, meaning } = sessionRole(session);
  return (
    <>
      {name}
      {ofOrganization && (
        <>
          {' of '}
          <TenantText text={session.organizationName} />
        </>
      )}
      <Text size="xs" c="dimmed" component="div">
        {meaning}
      </Text>
    </>
  );
}
