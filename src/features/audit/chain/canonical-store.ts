/**
 * The canonical text of an event (RFC 8785): seals, hashes and exports are over it. A row does not store it, because its
 * columns have the same values: SQL builds it from them. So a change of any column changes the text. Rows of earlier
 * versions store it, and verification compares it with the columns.
 */
import { raw, type Sql } from '../../../kernel/data/sql.ts';
import type { DomainEvent } from '../../../kernel/domain-event.ts';

/** The fields of an event, as its row stores them. */
export type EventFields = Pick<
  DomainEvent,
  'eventId' | 'organizationId' | 'agentId' | 'type' | 'outcome' | 'ipAddress' | 'userAgent' | 'timestamp'
> & {
  /** Canonical JSON. */
  readonly metadata: string;
};

const quote = JSON.stringify;

/** Members in this order, strings as JSON.stringify writes them. */
export const canonicalText = (event: EventFields): string =>
  `{"action":${quote(event.type)},"agentId":"${event.agentId}","eventId":"${event.eventId}",` +
  `"ipAddress":${quote(event.ipAddress)},"metadata":${event.metadata},"organizationId":"${event.organizationId}",` +
  `"outcome":"${event.outcome}","timestamp":"${event.timestamp}","userAgent":${quote(event.userAgent)}}`;

type Alias = 'e' | 'audit_events';

/** The same text from the columns. PostgreSQL escapes strings as JSON.stringify does (canonical-store.test.ts). */
const textOfColumns = (of: Alias): string => `concat(
  '{"action":', to_json(${of}.action), ',"agentId":"', ${of}.agent_id, '","eventId":"', ${of}.event_id,
  '","ipAddress":', to_json(${of}.ip_address), ',"metadata":', ${of}.metadata, ',"organizationId":"', ${of}.organization_id,
  '","outcome":', to_json(${of}.outcome), ',"timestamp":"', to_char(${of}.occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  '","userAgent":', to_json(${of}.user_agent), '}')`;

/** The text of the event in this row; null when an outer join found no row. */
export const canonicalOf = (of: Alias): Sql =>
  raw(`case when ${of}.event_id is not null then coalesce(${of}.canonical, ${textOfColumns(of)}) end`);

/** Whether a row of an earlier version stores the text of its columns. True for a row without a stored text. */
export const storedTextMatches = (of: Alias): Sql =>
  raw(`(${of}.canonical is null or ${of}.canonical = ${textOfColumns(of)})`);

/** The text of the columns, where a row of an earlier version stores another text; null otherwise. */
export const differingColumns = (of: Alias): Sql =>
  raw(`case when ${of}.canonical <> ${textOfColumns(of)} then ${textOfColumns(of)} end`);
