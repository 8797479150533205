/**
 * The controls, each with a check of something real: the database as it is, the keys and settings in use, the audit log. A
 * check that cannot be made leaves its control `unknown`. All are made together, at most once a minute in a process.
 */
import { limits } from '../../contract/limits.ts';
import { isoTime } from '../../kernel/clock.ts';
import {
  commitsToDisk,
  endsAccessWithAgents,
  hasDroppedAuditBefore,
  holdsHashesOnly,
  refusesAuditChanges,
} from './controls-store.ts';
import type { ComplianceDeps } from './deps.ts';
import type { Control } from './schema.ts';

interface Check {
  readonly id: string;
  readonly name: string;
  /** Undefined when there is no telling. */
  holds(): boolean | undefined | Promise<boolean>;
}

/** Above this a limit on requests limits nobody. */
const rateLimitAtMost = 100_000;
const keyBitsAtLeast = 2_048;
const dayMs = 86_400_000;
/** A day is dropped once its last event is past retention, by a job that runs every hour. */
const retentionDays = limits.auditRetentionDays + 3;

const checksOf = (deps: ComplianceDeps): Check[] => {
  const { db, clock, settings, audit, deniesByDefault, signer } = deps;
  const oldestDay = () => new Date(clock.now() - retentionDays * dayMs).toISOString().slice(0, 10);
  return [
    { id: 'CC6.1', name: 'Client secrets are kept as hashes only', holds: () => holdsHashesOnly(db) },
    {
      id: 'CC6.1-KEYS',
      name: `Signing keys are RSA with at least ${keyBitsAtLeast} bits`,
      holds: () => signer.publicKeys().every(({ n }) => bitsOf(n) >= keyBitsAtLeast),
    },
    {
      id: 'CC6.2',
      name: 'Decommissioned agents hold no credentials',
      holds: () => endsAccessWithAgents(db),
    },
    { id: 'CC6.3', name: 'Policies deny by default', holds: deniesByDefault },
    {
      id: 'CC6.6',
      name: 'Requests are limited per client',
      holds: () => settings.rateLimitPerMinute <= rateLimitAtMost,
    },
    {
      id: 'CC6.7',
      name: 'The public address is served over TLS',
      holds: () => settings.baseUrl.startsWith('https:'),
    },
    {
      id: 'CC7.1',
      name: 'The service cannot change or delete audit records',
      holds: () => refusesAuditChanges(db),
    },
    { id: 'CC7.2', name: 'The audit log is intact', holds: () => audit.everywhere() },
    {
      id: 'C1.1',
      name: 'Webhook signing secrets are encrypted at rest',
      holds: () => settings.dataEncryptionKey !== undefined,
    },
    {
      id: 'C1.2',
      name: `Audit events are dropped after ${limits.auditRetentionDays} days`,
      holds: () => hasDroppedAuditBefore(db, oldestDay()),
    },
    { id: 'A1.2', name: 'Committed changes are on disk', holds: () => commitsToDisk(db) },
    // Backups are made beside the service, and it cannot see them.
    { id: 'A1.3', name: 'Backups can be restored', holds: () => undefined },
  ];
};

export interface Controls {
  current(): Promise<readonly Control[]>;
}

export function createControls(deps: ComplianceDeps): Controls {
  const { clock } = deps;
  const checks = checksOf(deps);
  const keptMs = limits.complianceControlsCacheSeconds * 1_000;
  let known: { readonly at: number; readonly controls: Promise<readonly Control[]> } | undefined;

  const look = async ({ id, name, holds }: Check): Promise<Control> => {
    const status = await Promise.resolve()
      .then(holds)
      .then(
        (held) => (held === undefined ? 'unknown' : held ? 'pass' : 'fail'),
        () => 'unknown' as const,
      );
    return { id, name, status, lastChecked: isoTime(clock) };
  };

  return {
    current() {
      const now = clock.now();
      const age = known === undefined ? keptMs : now - known.at;
      // A clock that was set back makes what is known no younger.
      if (known === undefined || age < 0 || age >= keptMs)
        known = { at: now, controls: Promise.all(checks.map(look)) };
      return known.controls;
    },
  };
}

const bitsOf = (modulus: unknown): number => {
  const bytes = Buffer.from(String(modulus), 'base64url');
  return bytes.length * 8 - Math.clz32(bytes[0] ?? 0) + 24;
};
