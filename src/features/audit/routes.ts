import { limits } from '../../contract/limits.ts';
import { type RouteEntry, route, scope } from '../../kernel/http/route.ts';
import type { ArchiveService } from './archive/service.ts';
import type { ExportService } from './export/service.ts';
import type { AuditReader } from './log/read.ts';
import type { ProofService } from './proof/service.ts';
import {
  ArchiveFileQuery,
  ArchiveParams,
  ArchivesQuery,
  AuditArchiveFile,
  AuditArchivePage,
  AuditChain,
  AuditCheckpointPage,
  AuditEvent,
  AuditEventParams,
  AuditExport,
  AuditExportQuery,
  AuditKeyPage,
  AuditPage,
  AuditQuery,
  ChainQuery,
  CheckpointQuery,
  KeysQuery,
  Verification,
  VerifyQuery,
} from './schema.ts';
import type { VerificationService } from './verify/service.ts';

interface AuditServices {
  readonly reader: AuditReader;
  readonly verification: VerificationService;
  readonly proof: ProofService;
  readonly exports: ExportService;
  readonly archives: ArchiveService;
}

export const auditRoutes = ({
  reader,
  verification,
  proof,
  exports,
  archives,
}: AuditServices): RouteEntry[] => [
  route({
    id: 'listAuditEvents',
    summary: "List the organization's audit events of the last 90 days, most recent first",
    tag: 'Audit',
    method: 'GET',
    url: '/audit',
    access: scope('audit:read'),
    limit: 'caller',
    cost: 'heavy',
    schema: { query: AuditQuery, response: { 200: AuditPage } },
    errors: ['RETENTION_WINDOW_EXCEEDED', 'ORG_NOT_FOUND'],
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
    cost: 'long',
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
    cost: 'heavy',
    schema: { query: CheckpointQuery, response: { 200: AuditCheckpointPage } },
    errors: ['ORG_NOT_FOUND'],
    handler: ({ caller, query }) => verification.checkpoints(caller, query),
  }),
  route({
    id: 'getAuditChain',
    summary: "Read the links of the organization's audit log with their events and checkpoints, in order",
    description:
      'With this, a client can compute every hash itself, and check the signatures with the keys of `/.well-known/jwks.json`. The answer without `after` has the start of the chain, after all recorded events were linked. Go on with the last `sequence` until you have reached `size`. The guide "Read, verify and export the audit log" has the formulas.',
    tag: 'Audit',
    method: 'GET',
    url: '/audit/chain',
    access: scope('audit:read'),
    limit: 'caller',
    cost: 'long',
    schema: { query: ChainQuery, response: { 200: AuditChain } },
    errors: ['ORG_NOT_FOUND'],
    handler: ({ caller, query }) => proof.chain(caller, query),
  }),
  route({
    id: 'listAuditKeys',
    summary: 'List the keys that have signed the audit log, newest first',
    description:
      'Each key signs a statement that names the key before it. A key of `/.well-known/jwks.json` has signed the newest, so earlier keys can be trusted step by step.',
    tag: 'Audit',
    method: 'GET',
    url: '/audit/keys',
    access: scope('audit:read'),
    limit: 'caller',
    schema: { query: KeysQuery, response: { 200: AuditKeyPage } },
    handler: ({ query }) => proof.keys(query),
  }),
  route({
    id: 'exportAudit',
    summary: "Export the organization's audit log with its evidence, as a file",
    description:
      'The file is the one that `countersign audit export` writes and `countersign audit verify` reads. For an operator it has the logs of all organizations.',
    tag: 'Audit',
    method: 'GET',
    url: '/audit/export',
    access: scope('audit:read'),
    limit: { perMinute: limits.auditExports.perMinute, per: 'organization' },
    produces: 'application/x-ndjson',
    longLived: true,
    schema: { query: AuditExportQuery, response: { 200: AuditExport } },
    errors: ['ORG_NOT_FOUND'],
    async handler({ caller, query, header, endSignal, recheckAccess }) {
      const { organizationId } = query;
      const { name, text } = await exports.open({
        caller,
        organizationId,
        ended: endSignal(),
        recheckAccess,
      });
      header('content-disposition', `attachment; filename="${name}"`);
      header('cache-control', 'no-store');
      return text;
    },
  }),
  route({
    id: 'listAuditArchives',
    summary: "List the archived days of the organization's audit log, newest first",
    description:
      'A day is archived when it is over, also long before `GET /audit` forgets it. Without an archive on this instance the list is empty.',
    tag: 'Audit',
    method: 'GET',
    url: '/audit/archives',
    access: scope('audit:read'),
    limit: 'caller',
    schema: { query: ArchivesQuery, response: { 200: AuditArchivePage } },
    errors: ['ORG_NOT_FOUND'],
    handler: ({ caller, query }) => archives.list(caller, query),
  }),
  route({
    id: 'getAuditArchive',
    summary: "Download an archived day of the organization's audit log, as a compressed file",
    description:
      'The file has the SHA-256 of the list, and `countersign audit verify` reads it: it proves itself with the public keys of this instance alone. The connection breaks off when the stored file is not the one that was archived.',
    tag: 'Audit',
    method: 'GET',
    url: '/audit/archives/:date',
    access: scope('audit:read'),
    limit: { perMinute: limits.auditArchiveDownloads.perMinute, per: 'organization' },
    produces: 'application/zstd',
    longLived: true,
    schema: { params: ArchiveParams, query: ArchiveFileQuery, response: { 200: AuditArchiveFile } },
    errors: ['ARCHIVE_NOT_FOUND', 'ORG_NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    async handler({ caller, params, query, header, endSignal, recheckAccess }) {
      const { name, bytes, content } = await archives.open({
        caller,
        organizationId: query.organizationId,
        date: params.date,
        ended: endSignal(),
        recheckAccess,
      });
      header('content-disposition', `attachment; filename="${name}"`);
      header('content-length', String(bytes));
      header('cache-control', 'no-store');
      return content;
    },
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
