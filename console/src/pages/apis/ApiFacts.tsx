import { Group, Paper } from '@mantine/core';
import type { Resource } from '../../api/generated.ts';
import { CopyButton } from '../../components/CopyButton.tsx';
import { Facts } from '../../components/Facts.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { ScopeList } from '../../components/ScopeList.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { Approvers } from './Approvers.tsx';
import { type Ownership, ownershipWords } from './ownership.ts';

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

interface ApiFactsProps {
  readonly resource: Resource;
  readonly ownership: Ownership;
}

/** The API itself, above the tabs. */
export function ApiFacts({ resource, ownership }: ApiFactsProps) {
  const { identifier, organizationId, tokenLifetimeSeconds, claims, verification, createdAt, updatedAt } =
    resource;
  const { peopleScopes, approvers } = resource;
  return (
    <Paper mb="md" p="md">
      <Facts
        facts={{
          Identifier: (
            <Group gap="xs">
              <TenantText text={identifier} multiline />
              <CopyButton text={identifier} label="Copy" size="compact-xs" />
            </Group>
          ),
          Host: <StatusBadge status={verification.status} label={hostWords(verification)} />,
          Owner:
            ownership === 'own' ? (
              ownershipWords.own
            ) : (
              <>
                {ownershipWords[ownership]} (organization <code>{organizationId}</code>)
              </>
            ),
          'Token lifetime': `${tokenLifetimeSeconds.toLocaleString('en')} seconds`,
          Claims: claims.length > 0 ? claims.join(', ') : 'none beside the standard ones',
          'Every person may lend': (
            <ScopeList scopes={peopleScopes} none="nothing: only admins and approvers may" />
          ),
          Approvers: ownership !== 'shared' && <Approvers approvers={approvers} />,
          Registered: (
            <>
              <RelativeTime time={createdAt} />, changed <RelativeTime time={updatedAt} />
            </>
          ),
        }}
      />
    </Paper>
  );
}
