import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { streamPosition } from '../../contract/patterns.ts';

export const EventsQuery = Type.Object({
  action: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: '^[^*]*\\*?$',
      description:
        'a type of event such as token.issued, or the beginning of types and a * at its end, such as agent.*',
    }),
  ),
  lastEventId: Type.Optional(
    Type.String({
      maxLength: 64,
      documentedPattern: streamPosition,
      description:
        'where to resume: the id of the last message received. The header Last-Event-ID goes before it; this is for clients that cannot set the header on their first connection',
    }),
  ),
});
export type EventsQuery = Static<typeof EventsQuery>;

const example = `retry: 3000
id: 9b7f04c1a2d3-41

id: 9b7f04c1a2d3-42
event: agent.created
data: {"eventId":"0198c0de-7a10-7c3e-9f00-9b7f04c1a2d3","agentId":"0198c0de-79ff-7b11-8a00-5c6d7e8f9a0b","action":"agent.created","outcome":"success","ipAddress":"203.0.113.7","userAgent":"curl/8.5.0","metadata":{"email":"screener@example.com"},"timestamp":"2030-01-31T12:00:00.000Z"}

: heartbeat

`;

export const EventMessages = Type.String({
  description:
    'Server-sent events. Each message has an id (the position to resume from), the event type, and one line of data: the audit event as JSON, as GET /audit/{eventId} answers it. Comments keep the connection open.',
  examples: [example],
});
