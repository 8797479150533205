import { type RouteEntry, route, scope } from '../../kernel/http/route.ts';
import { EventMessages, EventsQuery } from './schema.ts';
import type { EventStreamService } from './service.ts';

export const eventRoutes = (service: EventStreamService): RouteEntry[] => [
  route({
    id: 'streamEvents',
    summary: "Watch the organization's audit events as server-sent events",
    description: 'With the header `Last-Event-ID` it continues after that position.',
    tag: 'Audit',
    method: 'GET',
    url: '/events',
    access: scope('audit:read'),
    limit: 'caller',
    produces: 'text/event-stream',
    longLived: true,
    schema: { query: EventsQuery, response: { 200: EventMessages } },
    async handler({ caller, query, headers, header, endSignal, recheckAccess }) {
      const messages = await service.open({ caller, query, headers, ended: endSignal(), recheckAccess });
      header('cache-control', 'no-store');
      // nginx would buffer the stream.
      header('x-accel-buffering', 'no');
      return messages;
    },
  }),
];
