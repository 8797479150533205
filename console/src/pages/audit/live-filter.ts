/** The filters of the list, applied to events of the stream. The server applies them to the list. */
import type { AuditEvent } from '../../api/generated.ts';

interface EventFilters {
  readonly agentId?: string | undefined;
  readonly actorId?: string | undefined;
  readonly action?: string | undefined;
  readonly outcome?: string | undefined;
  readonly reason?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** The metadata name the actor only where it is not the agent that the event is about. */
export const actorIdOf = ({ agentId, metadata }: Pick<AuditEvent, 'agentId' | 'metadata'>): string =>
  typeof metadata.actorId === 'string' ? metadata.actorId : agentId;

/** As the server compares: the first 200 characters, of code points. */
const reasonOf = ({ metadata: { reason, action } }: AuditEvent): string =>
  [...String(reason ?? action ?? '')].slice(0, 200).join('');

export function matches(event: AuditEvent, filters: EventFilters): boolean {
  const { agentId, actorId, action, outcome, reason, from, to } = filters;
  return (
    (!agentId || event.agentId === agentId.toLowerCase()) &&
    (!actorId || actorIdOf(event) === actorId.toLowerCase()) &&
    (!action ||
      (action.endsWith('*') ? event.action.startsWith(action.slice(0, -1)) : event.action === action)) &&
    (!outcome || event.outcome === outcome) &&
    (!reason || (event.outcome === 'failure' && reasonOf(event) === reason)) &&
    !(from && Date.parse(event.timestamp) < Date.parse(from)) &&
    !(to && Date.parse(event.timestamp) > Date.parse(to))
  );
}
