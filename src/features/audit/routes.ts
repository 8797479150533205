import { limits } from '../../contract/limits.ts';
import { type RouteEntry, route, scope } from '../../kernel/http/route.ts';
import type { AuditReader } from './log/read.ts';
import {
  AuditCheckpointPage,
  AuditEvent,
  AuditEventParams,
  AuditPage,
  AuditQuery,
  CheckpointQuery,
  Verification,
  VerifyQuery,
} from './schema.ts';
import type { VerificationService } from './verify/service.ts';

export const auditRoutes = (reader: AuditReader, verification: VerificationService): RouteEntry[] => [
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
    handler: ({ caller, query }) => reader.list(caller, query),
  }),
  route({
    id: 'verifyAudit',
    summary: "Verify that the organization's audit log is unchanged",
    description:
      'Checks every hash and every signature. For an operator it checks the logs of all organizations.',
    tag: 'Audit',
    method: 'GET',
    url: '/audit/verify',
    access: scope('audit:read'),
    // The cost grows with the log of the organization, so all its callers share the limit.
    limit: { perMinute: limits.auditVerifyPerMinute, per: 'organization' },
    schema: { query: VerifyQuery, response: { 200: Verification } },
    errors: ['ORG_NOT_FOUND'],
    handler: ({ caller, query }) => verification.verify(caller, query),
  }),
  route({
    id: 'listAuditCheckpoints',
    summary: "List the signed checkpoints of the organization's audit log, newest first",
    tag: 'Audit',
    method: 'GET',
    url: '/audit/checkpoints',
    access: scope('audit:read'),
    limit: 'caller',
    schema: { query: CheckpointQuery, response: { 200: AuditCheckpointPage } },
    errors: ['ORG_NOT_FOUND'],
    handler: ({ caller, query }) => verification.checkpoints(caller, query),
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
    handler: ({ caller, params }) => reader.get(caller, params.eventId),
  }),
];
