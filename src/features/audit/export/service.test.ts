import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { limits } from '../../../contract/limits.ts';
import type { Caller } from '../../../kernel/caller.ts';
import { createExportService, type ExportRequest } from './service.ts';

describe('exports of many organizations', () => {
  it(`at most ${limits.auditExports.perProcess} run in a process, and the end of one makes room`, async () => {
    const { open } = createExportService({
      clock: { now: () => 0 },
      drain: async () => undefined,
    } as unknown as Parameters<typeof createExportService>[0]);
    const running: AbortController[] = [];
    const start = () => {
      const response = new AbortController();
      running.push(response);
      const organizationId = randomUUID();
      const caller = { organizationId } as Caller;
      return open({ caller, organizationId, ended: response.signal } as unknown as ExportRequest);
    };
    for (let count = 0; count < limits.auditExports.perProcess; count += 1) await start();
    await assert.rejects(start, /This server already runs/);
    running[0]?.abort();
    await start();
    await assert.rejects(start, /This server already runs/);
  });
});
