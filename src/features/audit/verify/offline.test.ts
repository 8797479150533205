/** The offline verification gives the same verdict as the SDKs: the audit exports of sdk/vectors.json. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { verifyExport } from '../../../../sdk/typescript/src/audit/verify-export.ts';
import { readLogTrust } from '../../../../sdk/typescript/src/transparency/log-trust.ts';
import type { AuditExportCase } from '../../../../test/support/sdk/export-changes.ts';
import { createStatementReader } from '../../../adapters/keys/keys.ts';
import type { PublicKey } from '../../../kernel/ports/signer.ts';
import { readExternalCheckpoint } from './external-checkpoint.ts';

const { auditExports }: { auditExports: readonly AuditExportCase[] } = JSON.parse(
  readFileSync(new URL('../../../../sdk/vectors.json', import.meta.url), 'utf8'),
);

async function* stream(lines: readonly string[]) {
  yield* lines;
}

describe('audit exports', () => {
  for (const { name, lines, checkpoint, jwks, log, problem, witnessed = null, valid } of auditExports)
    it(`${problem ?? 'intact'}: ${name}`, async () => {
      const { finding, statement, ...verdict } = await verifyExport(stream(lines), {
        roots: jwks.keys as PublicKey[],
        read: createStatementReader(),
        externalCheckpoint: checkpoint === null ? undefined : readExternalCheckpoint(checkpoint.trim()),
        log: log && readLogTrust(log),
      });
      assert.equal(finding?.code ?? (statement ? undefined : 'EXPORT_WITHOUT_STATEMENT'), problem);
      if (valid) assert.deepEqual(verdict.witnessed, witnessed);
    });
});
