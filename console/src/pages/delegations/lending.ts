import { useSession } from '../../app/session-context.tsx';

/** Whether the session may lend the scopes of other agents: an admin that may change agents. The API checks the agent. */
export function useMayLendForOthers(): boolean {
  const { role, scopes } = useSession();
  return (
    ['agents:read', 'agents:write'].every((scope) => scopes.includes(scope)) &&
    (role === 'admin' || scopes.includes('admin:orgs'))
  );
}
