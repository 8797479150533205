import { Group, Paper, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Resource } from '../../api/generated.ts';
import { CopyButton } from '../../components/CopyButton.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import classes from './Apis.module.css';
import { type Ownership, ownershipWords } from './ownership.ts';

function Fact({ term, children }: { readonly term: string; readonly children: ReactNode }) {
  return (
    <>
      <Text component="dt" size="xs" c="dimmed">
        {term}
      </Text>
      <Text component="dd" size="sm" className={classes.value ?? ''}>
        {children}
      </Text>
    </>
  );
}

const methodWords: Readonly<Record<string, string>> = {
  dns: 'proven by a TXT record',
  'well-known': 'proven by a text on the host',
  operator: 'approved by an operator',
};

const hostWords = ({ status, method }: Resource['verification']): string =>
  status === 'pending'
    ? 'not proven: no tokens yet'
    : method
      ? (methodWords[method] ?? method)
      : 'no proof needed';

export interface ApiFactsProps {
  readonly resource: Resource;
  readonly ownership: Ownership;
}

/** The API itself, above the tabs. */
export function ApiFacts({ resource, ownership }: ApiFactsProps) {
  const { identifier, organizationId, tokenLifetimeSeconds, claims, verification, createdAt, updatedAt } =
    resource;
  return (
    <Paper mb="md" p="md">
      <dl className={classes.facts}>
        <Fact term="Identifier">
          <Group gap="xs">
            <TenantText text={identifier} multiline />
            <CopyButton text={identifier} label="Copy" size="compact-xs" />
          </Group>
        </Fact>
        <Fact term="Host">
          <StatusBadge status={verification.status} label={hostWords(verification)} />
        </Fact>
        <Fact term="Owner">
          {ownershipWords[ownership]}
          {ownership !== 'own' && (
            <>
              {' '}
              (organization <code>{organizationId}</code>)
            </>
          )}
        </Fact>
        <Fact term="Token lifetime">{tokenLifetimeSeconds.toLocaleString('en')} seconds</Fact>
        <Fact term="Claims">{claims.length > 0 ? claims.join(', ') : 'none beside the standard ones'}</Fact>
        <Fact term="Registered">
          <RelativeTime time={createdAt} />, changed <RelativeTime time={updatedAt} />
        </Fact>
      </dl>
    </Paper>
  );
}
