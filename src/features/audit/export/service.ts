/** GET /audit/export: the export as a stream. It reads on when the client has read, and holds no connection in between. */

import { limits } from '../../../contract/limits.ts';
import { type Caller, tenantOf } from '../../../kernel/caller.ts';
import type { AccessCheck } from '../../../kernel/http/route.ts';
import { organizationOf } from '../log-owner.ts';
import { type ExportDeps, exportParts } from './export.ts';
import { createSlots } from './slots.ts';

export interface ExportRequest {
  readonly caller: Caller;
  /** Undefined for the operator means every organization. */
  readonly organizationId: string | undefined;
  /** Aborted when the response has ended, for any reason. */
  readonly ended: AbortSignal;
  recheckAccess(): Promise<AccessCheck>;
}

export interface ExportService {
  /** The name of the file, and its text. */
  open(request: ExportRequest): Promise<{ name: string; text: AsyncIterable<string> }>;
}

const chunkLength = 131_072;

export function createExportService(deps: ExportDeps & { drain(): Promise<unknown> }): ExportService {
  const { clock, drain } = deps;
  const reserve = createSlots({ one: 'an export', many: 'exports' }, limits.auditExports);

  async function* textOf(
    organizationId: string | undefined,
    { ended, recheckAccess }: ExportRequest,
  ): AsyncGenerator<string> {
    let chunk = '';
    for await (const { texts } of exportParts(deps, organizationId)) {
      chunk += `${texts.join('\n')}\n`;
      if (chunk.length < chunkLength) continue;
      if (ended.aborted) throw new Error('the client has gone, or the server closes');
      // The file breaks off, and its last line is missing: verification says so.
      if ((await recheckAccess()) !== 'allowed')
        throw new Error('the caller may no longer read the audit log');
      yield chunk;
      chunk = '';
    }
    yield chunk;
  }

  return {
    async open(request) {
      const { caller, ended } = request;
      const all = request.organizationId === undefined && tenantOf(caller) === undefined;
      const organizationId = all ? undefined : organizationOf(caller, request.organizationId);
      reserve(caller, ended);
      await drain();
      const time = new Date(clock.now()).toISOString().slice(0, 19).replaceAll(/[-:]/g, '');
      return {
        name: `audit-${organizationId ?? 'all'}-${time}Z.jsonl`,
        text: textOf(organizationId, request),
      };
    },
  };
}
