/** What an error of the database means: a temporary failure, a sign of a failover, a kind for the metrics. */

import { DatabaseUnavailable } from '../../kernel/data/db.ts';
import { Overloaded } from '../../kernel/overloaded.ts';

const networkErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);

/**
 * SQLSTATEs of temporary failures, where a retry may help: connection failures (class 08), a refused password or database (28,
 * 3D000), shutdown and recovery (57P0), timeouts (57014, 25P03), insufficient resources (53), I/O errors (58030), read-only
 * (25006), deadlocks and lock timeouts (40, 55P03).
 */
const outageCodes = /^(08|28|3D000|57P0|57014|25P03|53|58030|25006|40001|40P01|55P03)/;

/** Temporary failures that another server would have, too: deadlocks, locks, slow transactions. */
const notOfTheServer = /^(40001|40P01|55P03|25P03)/;

export const maySignalFailover = (error: unknown): boolean =>
  isOutage(error) && !notOfTheServer.test((error as { code?: string }).code ?? '');

export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code = '' } = error as { code?: string };
  return (
    networkErrors.has(code) ||
    outageCodes.test(code) ||
    /connection terminated|timeout exceeded when trying to connect|connection error|query read timeout/i.test(
      error.message,
    )
  );
}

export const errorKinds = [
  'unavailable',
  'timeout',
  'read_only',
  'resources',
  'conflict',
  'constraint',
  'other',
] as const;

/** The label of `service_db_errors_total`. Undefined for a wait for a connection of the pool: the database has not failed. */
export function kindOf(error: unknown): (typeof errorKinds)[number] | undefined {
  if (error instanceof Overloaded) return undefined;
  const { cause = error } = error instanceof DatabaseUnavailable ? error : {};
  const { code = '', message = '' } = (cause ?? {}) as { code?: string; message?: string };
  if (/^(57014|25P03)/.test(code) || /query read timeout/i.test(message)) return 'timeout';
  if (/^25006/.test(code)) return 'read_only';
  if (/^53/.test(code)) return 'resources';
  if (/^(40|55P03)/.test(code)) return 'conflict';
  if (/^23/.test(code)) return 'constraint';
  return isOutage(cause) || error instanceof DatabaseUnavailable ? 'unavailable' : 'other';
}
