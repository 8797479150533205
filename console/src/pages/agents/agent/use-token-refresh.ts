import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { refreshPaths } from '../../../api/queries.ts';
import { useEvents } from '../../../app/event-context.tsx';

/** The server writes the last use of a credential within two seconds. */
const writtenMilliseconds = 2_500;

/** A token of the agent changes when it was last seen: what the page shows of it loads again, once for many tokens. */
export function useTokenRefresh(agentId: string): void {
  const client = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEvents('token.issued', (event) => {
    if (event.agentId !== agentId) return;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      refreshPaths(client, ['/agents']);
    }, writtenMilliseconds);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
}
