import Type from '../../contract/json-schema.ts';
import { fail } from '../../kernel/fail.ts';
import { open, type RouteEntry, rootRoute, route, scope } from '../../kernel/http/route.ts';
import type { LogReader } from './reader.ts';
import { AuditWitnesses } from './schema.ts';

const text = 'text/plain; charset=utf-8';
const common = { tag: 'Discovery', access: open(), limit: 'caller', method: 'GET' } as const;
/** Neither tiles nor entries ever change. */
const forever = 'public, max-age=31536000, immutable';

export const instanceLogRoutes = (log: LogReader): RouteEntry[] => [
  rootRoute({
    ...common,
    id: 'logCheckpoint',
    summary: 'The newest checkpoint of the instance log (C2SP tlog-checkpoint)',
    description:
      'A signed note: the origin of the log, its size and its root. Signed by the key of `/log/key`, and cosigned by witnesses. With witnesses, it is the newest checkpoint that was sent to them, with the cosignatures that came.',
    url: '/log/checkpoint',
    produces: text,
    schema: {
      response: {
        200: Type.String({
          examples: [
            'id.example.com/log\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n— id.example.com/log …\n',
          ],
        }),
      },
    },
    errors: ['LOG_NOT_FOUND'],
    async handler({ header }) {
      const checkpoint = await log.checkpoint();
      header('cache-control', 'public, max-age=1');
      return checkpoint;
    },
  }),
  rootRoute({
    ...common,
    id: 'logKey',
    summary: 'The verifier key of the instance log',
    url: '/log/key',
    produces: text,
    schema: { response: { 200: Type.String({ examples: ['id.example.com/log+4f1e2a9b+AQ…'] }) } },
    errors: ['LOG_NOT_FOUND'],
    async handler({ header }) {
      const { verifierKey } = await log.current();
      header('cache-control', 'public, max-age=300');
      return `${verifierKey}\n`;
    },
  }),
  rootRoute({
    ...common,
    id: 'logTile',
    summary: 'Hashes or entries of the instance log (C2SP tlog-tiles)',
    // Its paths are those of C2SP, and no parameter of OpenAPI.
    hidden: true,
    url: '/log/tile/*',
    produces: 'application/octet-stream',
    schema: {
      params: Type.Object({ '*': Type.String({ maxLength: 100 }) }),
      response: { 200: Type.String({ format: 'binary' }) },
    },
    errors: ['LOG_NOT_FOUND', 'LOG_TILE_NOT_FOUND'],
    async handler({ params, header }) {
      const bytes = await log.tile(`tile/${params['*']}`);
      if (!bytes) return fail('LOG_TILE_NOT_FOUND');
      header('cache-control', forever);
      return bytes;
    },
  }),
];

export const witnessesRoute = (report: () => Promise<AuditWitnesses>): RouteEntry =>
  route({
    id: 'listAuditWitnesses',
    summary: 'List the witnesses of the instance log, and what they have cosigned',
    description:
      'Witnesses are run by others. They cosign the checkpoints of the instance log, so that a rewritten audit log is noticed. `witnessed` is the newest checkpoint with a quorum.',
    tag: 'Audit',
    method: 'GET',
    url: '/audit/witnesses',
    access: scope('audit:read'),
    limit: 'caller',
    schema: { response: { 200: AuditWitnesses } },
    handler: report,
  });
