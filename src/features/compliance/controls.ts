/**
 * The SOC 2 controls. Each checks the database, the keys, the settings or the audit log. A check that fails to run makes its control
 * `unknown`. All checks run together, at most once a minute per process.
 */

import { limits, writingAgentLimits } from '../../contract/limits.ts';
import { isLoopback } from '../../kernel/audience.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { PublicKey } from '../../kernel/ports/signer.ts';
import {
  commitsToDisk,
  endsAccessWithAgents,
  hasDroppedAuditBefore,
  hasFewWritingAgents,
  hasPeopleBehindApprovals,
  holdsHashesOnly,
  refusesAuditChanges,
} from './controls-store.ts';
import type { ComplianceDeps } from './feature.ts';
import type { Control } from './schema.ts';

interface Check {
  readonly id: string;
  readonly name: string;
  /** Whether the control holds, or why the service does not say. */
  holds(): boolean | Reason | Promise<boolean>;
}

type Reason = NonNullable<Control['reason']>;

/** A higher limit has no effect in practice. */
const maxRateLimit = 100_000;
const minKeyBits = 2_048;
const dayMs = 86_400_000;
/** An hourly job drops a day's partition once its last event is past retention. */
const retentionDays = limits.auditRetentionDays + 3;

const checksOf = (deps: ComplianceDeps): Check[] => {
  const { db, clock, settings, audit, deniesByDefault, signer } = deps;
  const oldestDay = () => new Date(clock.now() - retentionDays * dayMs).toISOString().slice(0, 10);
  return [
    { id: 'CC6.1', name: 'Client secrets are kept as hashes only', holds: () => holdsHashesOnly(db) },
    {
      id: 'CC6.1-KEYS',
      name: `Signing keys are RSA with at least ${minKeyBits} bits, P-256 or Ed25519`,
      holds: () => signer.publicKeys().every(isStrongKey),
    },
    {
      id: 'CC6.2',
      name: 'Decommissioned agents hold no credentials',
      holds: () => endsAccessWithAgents(db),
    },
    { id: 'CC6.3', name: 'Policies deny by default', holds: deniesByDefault },
    {
      id: 'CC6.3-SCOPES',
      name: `At most ${writingAgentLimits.few} agents, or ${writingAgentLimits.share * 100} % of them, hold writing scopes of this API`,
      holds: () => hasFewWritingAgents(db),
    },
    {
      id: 'CC6.3-APPROVALS',
      name: 'Every approval of an action was given by a person',
      holds: () => hasPeopleBehindApprovals(db),
    },
    {
      id: 'CC6.6',
      name: 'Requests are limited per client',
      holds: () => settings.rateLimitPerMinute <= maxRateLimit,
    },
    {
      id: 'CC6.7',
      name: 'The public address is served over TLS',
      holds: () =>
        settings.baseUrl.startsWith('https:') || (isDevelopment(settings) ? 'not_applicable' : false),
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
    { id: 'A1.3', name: 'Backups can be restored', holds: () => 'not_visible' },
  ];
};

export interface Controls {
  current(): Promise<readonly Control[]>;
}

export function createControls(deps: ComplianceDeps): Controls {
  const { clock } = deps;
  const checks = checksOf(deps);
  const cacheMs = limits.complianceControlsCacheSeconds * 1_000;
  let cached: { readonly at: number; readonly controls: Promise<readonly Control[]> } | undefined;

  const runCheck = async ({ id, name, holds }: Check): Promise<Control> => {
    const result = await Promise.resolve()
      .then(holds)
      .catch(() => 'not_checked' as const);
    const outcome =
      typeof result === 'boolean'
        ? { status: result ? ('pass' as const) : ('fail' as const), reason: null }
        : { status: 'unknown' as const, reason: result };
    return { id, name, ...outcome, lastChecked: isoTime(clock) };
  };

  return {
    current() {
      const now = clock.now();
      const age = cached === undefined ? cacheMs : now - cached.at;
      // A negative age: the clock was set back.
      if (cached === undefined || age < 0 || age >= cacheMs)
        cached = { at: now, controls: Promise.all(checks.map(runCheck)) };
      return cached.controls;
    },
  };
}

/** Only programs on this computer reach such an address. */
const isDevelopment = ({ nodeEnv, baseUrl }: ComplianceDeps['settings']): boolean =>
  nodeEnv !== 'production' && isLoopback(baseUrl);

/** The service starts with P-256 and Ed25519 only, besides RSA. */
const isStrongKey = ({ kty, crv, n }: PublicKey): boolean =>
  kty === 'RSA' ? bitsOf(n) >= minKeyBits : crv === 'P-256' || crv === 'Ed25519';

const bitsOf = (modulus: unknown): number => {
  const bytes = Buffer.from(String(modulus), 'base64url');
  return bytes.length * 8 - Math.clz32(bytes[0] ?? 0) + 24;
};
