import { type RouteEntry, route, scope } from '../../kernel/route.ts';
import type { AuditReader } from './read.ts';
import { AuditEvent, AuditEventParams, AuditPage, AuditQuery } from './schema.ts';

export const auditRoutes = (audit: AuditReader): RouteEntry[] => [
  route({
    id: 'listAuditEvents',
    summary: "List the organization's audit events of the last 90 days, most recent first",
    tag: 'Audit',
    method: 'GET',
    url: '/audit',
    access: scope('audit:read'),
    limit: 'caller',
    schema: { query: AuditQuery, response: { 200: AuditPage } },
    errors: ['RETENTION_WINDOW_EXCEEDED'],
    handler: ({ caller, query }) => audit.list(caller, query),
  }),
  route({
    id: 'getAuditEvent',
    summary: 'Read one audit event',
    tag: 'Audit',
    method: 'GET',
    url: '/audit/:eventId',
    access: scope('audit:read'),
    limit: 'caller',
    schema: { params: AuditEventParams, response: { 200: AuditEvent } },
    errors: ['AUDIT_EVENT_NOT_FOUND'],
    handler: ({ caller, params }) => audit.get(caller, params.eventId),
  }),
];
