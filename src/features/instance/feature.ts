/**
 * Instance: what an operator sees of this instance, namely its signing keys, versions, settings and the state of the audit log. It
 * owns no table. Secrets never reach it: the kernel decides which settings are shown (kernel/config/shown-values.ts).
 */
import type { Instance, InstanceDeps } from './deps.ts';
import { instanceRoutes } from './routes.ts';
import { createInstanceService } from './service.ts';

export const createInstance = (deps: InstanceDeps): Instance => ({
  routes: instanceRoutes(createInstanceService(deps)),
});
