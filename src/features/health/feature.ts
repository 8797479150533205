/** Health: the probe that orchestrators ask and the figures that monitoring scrapes. Owns nothing, reads everyone's metrics. */
import type { Db } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Kv } from '../../kernel/ports/kv.ts';
import { healthRoutes } from './routes.ts';

export interface HealthDeps {
  readonly db: Pick<Db, 'ping'>;
  readonly kv: Pick<Kv, 'ping'>;
  /** Whether audit events are linked in time; from memory. */
  auditLinking(): { readonly status: 'ok' | 'delayed'; readonly oldestUnlinkedSeconds: number };
  readonly metricsToken: string | undefined;
  /** The exposition of this process, or of all serving processes together. */
  metricsText(): Promise<string>;
}

export const createHealth = (deps: HealthDeps): { routes: readonly RouteEntry[] } => ({
  routes: healthRoutes(deps),
});
