import { Button } from '@mantine/core';
import type { OverviewAudit } from '../../api/generated.ts';
import { PageLink } from '../../app/navigation.tsx';
import { Icon } from '../../components/Icon.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';

/** The result of the server's own background verification. The audit page verifies in the browser. */
export function AuditBadge({ audit: { intact, checkedAt } }: { readonly audit: OverviewAudit }) {
  const color = intact ? (checkedAt ? 'green' : 'gray') : 'red';
  return (
    <Button
      component={PageLink}
      to="/audit"
      variant="light"
      color={color}
      leftSection={<Icon name={intact ? 'audit' : 'warning'} size={14} />}
    >
      {intact ? (
        checkedAt ? (
          <span>
            Audit log intact, checked <RelativeTime time={checkedAt} />
          </span>
        ) : (
          'Audit log not checked yet'
        )
      ) : (
        <span>
          Audit log not intact
          {checkedAt && (
            <>
              , checked <RelativeTime time={checkedAt} />
            </>
          )}
        </span>
      )}
    </Button>
  );
}
