/** Health: the state of the service (/health), the probes of orchestrators (/livez, /readyz) and the metrics for Prometheus (/metrics). Owns no table. */

import type { Db } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Kv } from '../../kernel/ports/kv.ts';
import { healthRoutes } from './routes.ts';
import { createChecks } from './service.ts';

export interface HealthDeps {
  readonly db: Pick<Db, 'ping'>;
  readonly kv: Pick<Kv, 'ping'>;
  readonly log: Log;
  /** Whether audit events are linked in time; no I/O. */
  auditLinking(): { readonly status: 'ok' | 'delayed'; readonly oldestUnlinkedSeconds: number };
  readonly metricsToken: string | undefined;
  /** The metrics of this process, or of all serving processes, in Prometheus format. */
  metricsText(): Promise<string>;
}

export interface Health {
  readonly routes: readonly RouteEntry[];
  /** From now on /readyz is 503, so that load balancers send no new requests. */
  drain(): void;
}

export function createHealth(deps: HealthDeps): Health {
  const checks = createChecks(deps);
  return { routes: healthRoutes(deps, checks), drain: checks.drain };
}
