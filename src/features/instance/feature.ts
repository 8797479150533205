/**
 * Instance: what an operator sees of this instance, namely its signing keys, versions, settings and the state of the audit log. It
 * owns no table. Secrets never reach it: the kernel decides which settings are shown (kernel/config/shown-values.ts).
 */

import type { Clock } from '../../kernel/clock.ts';
import type { ShownVariable } from '../../kernel/config/shown-values.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Signer } from '../../kernel/ports/signer.ts';
import { instanceRoutes } from './routes.ts';
import { createInstanceService } from './service.ts';

/** The evidence of the audit log, over all organizations. */
export interface AuditEvidence {
  /** The keys that have signed the log, newest first. */
  readonly keys: readonly { readonly keyId: string; readonly time: string }[];
  /** The newest signature: over the checkpoints of `size` organizations. */
  readonly treeHead:
    | { readonly number: number; readonly time: string; readonly size: number; readonly keyId: string }
    | undefined;
  readonly linking: 'ok' | 'delayed';
}

export interface InstanceDeps {
  readonly clock: Clock;
  readonly signer: Pick<Signer, 'keyId' | 'publicKeys'>;
  readonly runtime: { readonly version: string; readonly node: string };
  /** Without secrets. */
  readonly configuration: readonly ShownVariable[];
  auditEvidence(): Promise<AuditEvidence>;
}

export interface Instance {
  readonly routes: readonly RouteEntry[];
}

export const createInstance = (deps: InstanceDeps): Instance => ({
  routes: instanceRoutes(createInstanceService(deps)),
});
