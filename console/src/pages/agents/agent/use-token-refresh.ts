import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { isWaiting } from '../../../api/waiting-queries.ts';
import { useEvents } from '../../../app/event-context.tsx';

/** The server writes the last use of a credential within two seconds. */
const delayMilliseconds = 5_000;

/** A token of the agent changes the last use of its credentials: they load again, once for many tokens. */
export function useTokenRefresh(agentId: string): void {
  const client = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEvents('token.issued', (event) => {
    if (event.agentId !== agentId) return;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      void client.invalidateQueries({
        queryKey: ['listCredentials', { params: { agentId } }],
        predicate: (query) => !isWaiting(query),
      });
    }, delayMilliseconds);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
}
