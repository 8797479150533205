import { Button } from '@mantine/core';
import { useMemo } from 'react';
import type { Resource, ResourceScope } from '../../api/generated.ts';
import { type Column, DataTable } from '../../components/DataTable.tsx';
import { TenantText } from '../../components/TenantText.tsx';

interface ScopesProps {
  readonly resource: Resource;
  /** Shows the agents that hold the scope. */
  readonly onHolders: (scope: string) => void;
}

/** The scopes of an API; of a shared one, those that are shared. */
export function Scopes({ resource, onHolders }: ScopesProps) {
  const columns = useMemo<readonly Column<ResourceScope>[]>(
    () => [
      {
        header: 'Scope',
        width: '16rem',
        cell: ({ name }) => (
          <code>
            <TenantText text={name} />
          </code>
        ),
      },
      { header: 'Description', cell: ({ description }) => <TenantText text={description} multiline /> },
      {
        header: 'Holders',
        width: '10rem',
        cell: ({ name }) => (
          <Button
            variant="subtle"
            size="compact-xs"
            onClick={() => onHolders(name)}
            aria-label={`Who holds it: ${name}`}
          >
            Who holds it
          </Button>
        ),
      },
    ],
    [onHolders],
  );
  return <DataTable label="Scopes" rows={resource.scopes} columns={columns} rowId={({ name }) => name} />;
}
