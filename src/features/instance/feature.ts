/**
 * Instance: what an operator sees of this instance, namely its signing keys, versions, settings and the state of the audit log. It
 * owns no table. Secrets never reach it: the kernel decides which settings are shown (kernel/config/shown-values.ts).
 */

import type { Clock } from '../../kernel/clock.ts';
import type { ShownVariable } from '../../kernel/config/shown-values.ts';
import type { Signer } from '../../kernel/ports/signer.ts';
import type { Audit } from '../audit/feature.ts';
import { instanceRoutes } from './routes.ts';
import { createInstanceService } from './service.ts';

export interface InstanceDeps {
  readonly clock: Clock;
  readonly signer: Pick<Signer, 'keyId' | 'publicKeys'>;
  readonly runtime: { readonly version: string; readonly node: string };
  /** Without secrets. */
  readonly configuration: readonly ShownVariable[];
  readonly audit: Pick<Audit, 'signatures' | 'linking'>;
}

export const createInstance = (deps: InstanceDeps) => ({
  routes: instanceRoutes(createInstanceService(deps)),
});
