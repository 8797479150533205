/** The text of server-sent events (WHATWG HTML, section 9.2), and the positions in their `id`. */

import type { FeedEntry, FeedPosition } from '../audit/log/feed.ts';
import type { AuditEvent } from '../audit/schema.ts';

/** An entry with its text, which all streams of the organization share. */
export interface Message extends FeedPosition {
  /** Undefined past retention. */
  readonly event: AuditEvent | undefined;
  /** Empty past retention. */
  readonly text: string;
}

const retryMs = 3_000;
/** The end of the organization's id, so that a position of another organization is not taken for one of this. */
const tagOf = (organizationId: string): string => organizationId.slice(-12);

export const positionId = (organizationId: string, sequence: number): string =>
  `${tagOf(organizationId)}-${sequence}`;

/** Undefined unless it is a position of this organization. */
export function parsePositionId(organizationId: string, id: string): number | undefined {
  const [, tag, digits] = /^([0-9a-f]{12})-(0|[1-9]\d{0,14})$/.exec(id) ?? [];
  return tag === tagOf(organizationId) ? Number(digits) : undefined;
}

export const messageOf = ({ organizationId, sequence, day, event }: FeedEntry): Message => ({
  sequence,
  day,
  event,
  text: event
    ? `id: ${positionId(organizationId, sequence)}\nevent: ${event.action}\ndata: ${JSON.stringify(event)}\n\n`
    : '',
});

/** The id alone makes no event: it is the position to resume from when the connection ends before the first event. */
export const openingText = (id: string | undefined): string =>
  id === undefined ? `retry: ${retryMs}\n\n` : `retry: ${retryMs}\nid: ${id}\n\n`;

/** With an id when the stream has passed events that it does not send. */
export const heartbeatText = (id: string | undefined): string =>
  id === undefined ? ': heartbeat\n\n' : `: heartbeat\nid: ${id}\n\n`;

export const endText = (reason: string): string => `: ${reason}\n\n`;
