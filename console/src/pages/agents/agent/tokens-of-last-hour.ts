import { useState } from 'react';
import { useApi } from '../../../api/queries.ts';
import { useCan } from '../../../app/session-context.tsx';

const hour = 3_600_000;

/** How many tokens were issued to the agent in the last hour: as long as an access token can be valid. Needs audit:read. */
export function useTokensOfLastHour(agentId: string) {
  const can = useCan();
  // One time for the life of the dialog: each new time would be a new request.
  const [fromDate] = useState(() => new Date(Date.now() - hour).toISOString());
  return useApi(
    'listAuditEvents',
    { query: { agentId, action: 'token.issued', fromDate, limit: 1 } },
    { enabled: can('audit:read') },
  );
}
