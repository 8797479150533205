/** Health: the state of the service (/health), the probes of orchestrators (/livez, /readyz) and the metrics for Prometheus (/metrics). Owns no table. */

import type { Db } from '../../kernel/data/db.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Kv } from '../../kernel/ports/kv.ts';
import type { Audit } from '../audit/feature.ts';
import { healthRoutes } from './routes.ts';
import { createChecks } from './service.ts';

export interface HealthDeps {
  readonly db: Pick<Db, 'ping'>;
  readonly kv: Pick<Kv, 'ping'>;
  readonly log: Log;
  /** No I/O. */
  readonly auditLinking: Audit['linking'];
  readonly metricsToken: string | undefined;
  /** The metrics of this process, or of all serving processes, in Prometheus format. */
  metricsText(): Promise<string>;
}

export function createHealth(deps: HealthDeps) {
  const checks = createChecks(deps);
  return { routes: healthRoutes(deps, checks), drain: checks.drain };
}
