/** An audit event as the server sends it. The server may be anyone's, so its shape is checked. */
import { CommandError } from '../../command-error.ts';

export interface AuditEvent {
  readonly eventId: string;
  readonly agentId: string;
  readonly action: string;
  readonly outcome: 'success' | 'failure';
  readonly ipAddress: string;
  readonly userAgent: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** ISO 8601. */
  readonly timestamp: string;
}

const texts = ['eventId', 'agentId', 'action', 'outcome', 'ipAddress', 'userAgent', 'timestamp'];

export function readAuditEvent(value: unknown, url: string): AuditEvent {
  const event = (value ?? {}) as Record<string, unknown>;
  const isComplete =
    texts.every((name) => typeof event[name] === 'string') &&
    typeof event.metadata === 'object' &&
    event.metadata !== null;
  if (!isComplete) throw new CommandError(`${url} sent an event that this version does not understand`);
  return event as unknown as AuditEvent;
}

export function parseAuditEvent(text: string, url: string): AuditEvent {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  return readAuditEvent(value, url);
}

/** The agent that acted; an event names it only where it is not the agent that the event is about. */
export const actorOf = ({ agentId, metadata }: AuditEvent): string =>
  typeof metadata.actorId === 'string' ? metadata.actorId : agentId;
