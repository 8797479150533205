import { type RouteEntry, route, scope } from '../../kernel/http/route.ts';
import { InstanceState } from './schema.ts';
import type { InstanceService } from './service.ts';

export const instanceRoutes = (service: InstanceService): RouteEntry[] => [
  route({
    id: 'getInstance',
    summary: 'Read the signing keys, versions and settings of this instance',
    description: 'Secrets are not in the answer: it only says whether they are set.',
    tag: 'Operational',
    method: 'GET',
    url: '/instance',
    access: scope('admin:orgs'),
    limit: 'caller',
    schema: { response: { 200: InstanceState } },
    handler: () => service.describe(),
  }),
];
