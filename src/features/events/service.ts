/** Opens streams: the position to start from, and the limits on open streams. */

import type { EventType } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import type { Caller } from '../../kernel/caller.ts';
import { fail } from '../../kernel/fail.ts';
import { readPrefixFilter } from '../../kernel/http/input/prefix-filter.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import type { AccessCheck } from '../../kernel/http/route.ts';
import type { AuditEvent } from '../audit/schema.ts';
import type { EventStreams } from './event-streams.ts';
import type { EventStreamDeps } from './feature.ts';
import { parsePositionId } from './messages.ts';
import type { EventsQuery } from './schema.ts';

interface OpenRequest {
  readonly caller: Caller;
  readonly query: EventsQuery;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Aborted when the response has ended, for any reason. */
  readonly ended: AbortSignal;
  recheckAccess(): Promise<AccessCheck>;
}

/** A stream for a person in a session, who need not be allowed to read the audit log. */
export interface PersonalRequest extends Pick<OpenRequest, 'caller' | 'ended' | 'recheckAccess'> {
  readonly types: readonly EventType[];
  /** Empty when the event is not for the person. */
  textFor(event: AuditEvent): Promise<string>;
}

export interface EventStreamService {
  open(request: OpenRequest): Promise<AsyncIterable<string>>;
  openPersonal(request: PersonalRequest): Promise<AsyncIterable<string>>;
}

const { eventStreams, personalStreams } = limits;

export function createEventStreamService(
  { feed, metrics }: EventStreamDeps,
  streams: EventStreams,
): EventStreamService {
  const ofAgents = createReservations(
    { ...eventStreams, perOwner: eventStreams.perAgent, owner: 'Your agent' },
    ({ agentId }) => agentId,
  );
  const ofSessions = createReservations(
    { ...personalStreams, perOwner: personalStreams.perSession, owner: 'Your session' },
    ({ sessionId }) => sessionId,
  );
  metrics.gaugeFrom('service_event_streams_open', () => ofAgents.size() + ofSessions.size());

  return {
    async open({ caller, query, headers, ended, recheckAccess }) {
      const { organizationId } = caller;
      const given = lastEventIdOf(headers, query);
      const sequence = given && readPosition(organizationId, given);
      ofAgents.reserve(caller, ended);
      const end = await feed.end(organizationId);
      if (given && sequence !== undefined && sequence > end.sequence)
        throw invalidPosition(
          given,
          'is after the newest event of your organization: leave it out to start now',
        );
      return streams.follow({
        organizationId,
        start: sequence === undefined ? end : { sequence },
        end,
        matches: matcherOf(query.action),
        ended,
        recheckAccess,
      });
    },

    async openPersonal({ caller, types, textFor, ended, recheckAccess }) {
      const { organizationId } = caller;
      ofSessions.reserve(caller, ended);
      const end = await feed.end(organizationId);
      const wanted = new Set<string>(types);
      const matches = (action: string) => wanted.has(action);
      return streams.follow({ organizationId, start: end, end, matches, textFor, ended, recheckAccess });
    },
  };
}

/** The open streams of one kind, within its limits. */
function createReservations(
  {
    owner,
    perOwner,
    perOrganization,
    perProcess,
  }: Record<'perOwner' | 'perOrganization' | 'perProcess', number> & {
    owner: string;
  },
  ownerOf: (caller: Caller) => string | undefined,
) {
  const open = new Set<Caller>();
  return {
    size: () => open.size,
    /** The stream counts from now on until its response has ended. */
    reserve(caller: Caller, ended: AbortSignal): void {
      const ofOrganization = [...open].filter(
        ({ organizationId }) => organizationId === caller.organizationId,
      );
      const ofOwner = ofOrganization.filter((other) => ownerOf(other) === ownerOf(caller));
      if (ofOwner.length >= perOwner) refuse(`${owner} has`, perOwner);
      if (ofOrganization.length >= perOrganization) refuse('Your organization has', perOrganization);
      if (open.size >= perProcess) refuse('This server has', perProcess);
      if (ended.aborted) return;
      open.add(caller);
      ended.addEventListener('abort', () => open.delete(caller), { once: true });
    },
  };
}

interface GivenPosition {
  readonly in: 'header' | 'query';
  readonly field: string;
  readonly id: string;
}

/** The header goes first: a client that reconnects repeats the query of its first connection. Empty means none. */
function lastEventIdOf(headers: OpenRequest['headers'], query: EventsQuery): GivenPosition | undefined {
  const header = headers['last-event-id'];
  if (header) return { in: 'header', field: 'Last-Event-ID', id: String(header) };
  return query.lastEventId ? { in: 'query', field: 'lastEventId', id: query.lastEventId } : undefined;
}

function readPosition(organizationId: string, given: GivenPosition): number {
  const sequence = parsePositionId(organizationId, given.id);
  if (sequence === undefined)
    throw invalidPosition(
      given,
      "must be the id of a message of your organization's event stream, or be left out to start now",
    );
  return sequence;
}

const invalidPosition = ({ in: part, field }: GivenPosition, message: string) =>
  validationError(part, [{ in: part, field, message }]);

/** A `*` at the end makes it a prefix. */
function matcherOf(action: string | undefined): (action: string) => boolean {
  if (action === undefined) return () => true;
  const filter = readPrefixFilter(action);
  return 'prefix' in filter ? (other) => other.startsWith(filter.prefix) : (other) => other === filter.name;
}

const refuse = (owner: string, limit: number): never =>
  fail('RATE_LIMIT_EXCEEDED', {
    message: `${owner} ${limit} event streams open, the most that are allowed: close one, or try again later.`,
    details: { limit },
    headers: { 'retry-after': String(eventStreams.retryAfterSeconds) },
  });
