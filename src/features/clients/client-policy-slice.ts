/** The client policy of an organization: which clients with a metadata document become its agents. Owns `client_policies`. */

import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import { literals, Uuid } from '../../contract/shapes.ts';
import type { Caller } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import { fail } from '../../kernel/fail.ts';
import { policy, type RouteEntry, route } from '../../kernel/http/route.ts';
import { organization } from '../../kernel/policy.ts';
import type { ClientDeps } from './feature.ts';

const Domains = Type.Array(
  Type.String({
    maxLength: 253,
    pattern:
      '^(?:[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?\\.)*[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?$',
    description: 'a host name such as example.com, without scheme, port or wildcard',
    examples: ['example.com'],
  }),
  {
    maxItems: limits.clientPolicyDomains,
    uniqueItems: true,
    description: 'with the mode `domains`: clients of these hosts, and of hosts below them, are admitted',
  },
);

export const ClientPolicy = Type.Object(
  {
    mode: Type.Unsafe<'any' | 'domains' | 'approval' | 'off'>({
      ...literals(['any', 'domains', 'approval', 'off']),
      examples: ['approval'],
      description:
        '`any`: every client is admitted. `domains`: those of the domains. `approval`: the agent of a new client is suspended until an administrator activates it. `off`: none',
    }),
    domains: Domains,
  },
  { title: 'ClientPolicy' },
);
export type ClientPolicy = Static<typeof ClientPolicy>;

const ClientPolicyChange = Type.Object(
  { mode: ClientPolicy.properties.mode, domains: Type.Optional(Domains) },
  { title: 'ClientPolicyChange', additionalProperties: false },
);

const Params = Type.Object({ orgId: Uuid });

const defaultPolicy: ClientPolicy = { mode: 'any', domains: [] };

export const findClientPolicy = async (db: Queryable, organizationId: string): Promise<ClientPolicy> =>
  (await db.maybe<ClientPolicy>(
    'clients.findPolicy',
    sql`select mode, domains from client_policies where organization_id = ${organizationId}`,
  )) ?? defaultPolicy;

const access = policy(
  'organizations:managePeople',
  (_, { orgId = '' }) => organization(orgId),
  'ORG_NOT_FOUND',
);

export function clientPolicyRoutes({
  db,
  clock,
  ledger,
  organizationFor,
  lockOrganization,
}: Pick<ClientDeps, 'db' | 'clock' | 'ledger' | 'organizationFor' | 'lockOrganization'>): RouteEntry[] {
  const put = (caller: Caller, orgId: string, wanted: Static<typeof ClientPolicyChange>) =>
    db.transaction(async (tx) => {
      const organizationId = orgId.toLowerCase();
      if (!(await lockOrganization(tx, organizationId))) fail('ORG_NOT_FOUND');
      const { mode } = wanted;
      const domains = [...new Set((wanted.domains ?? []).map((domain) => domain.toLowerCase()))];
      const before = await findClientPolicy(tx, organizationId);
      if (before.mode === mode && before.domains.join() === domains.join()) return before;
      await tx.run(
        'clients.putPolicy',
        sql`insert into client_policies (organization_id, mode, domains, updated_at)
            values (${organizationId}, ${mode}, ${domains}, ${isoTime(clock)})
            on conflict (organization_id) do update
            set mode = excluded.mode, domains = excluded.domains, updated_at = excluded.updated_at`,
      );
      const metadata = { mode, domains, previousMode: before.mode };
      await ledger.record(tx, caller, 'client_policy.updated', {
        organizationId,
        agentId: caller.agentId,
        metadata,
      });
      return { mode, domains };
    });

  return [
    route({
      id: 'getClientPolicy',
      summary: 'Read which OAuth clients with a metadata document the organization admits',
      tag: 'Organizations',
      method: 'GET',
      url: '/organizations/:orgId/client-policy',
      access,
      limit: 'caller',
      schema: { params: Params, response: { 200: ClientPolicy } },
      errors: ['ORG_NOT_FOUND'],
      async handler({ caller, params }) {
        const { organizationId } = await organizationFor(caller, params.orgId);
        return findClientPolicy(db, organizationId);
      },
    }),
    route({
      id: 'putClientPolicy',
      summary: 'Choose which OAuth clients with a metadata document the organization admits',
      description:
        'Such a client becomes an agent of the organization when a person first lets it act for them. The policy counts at each consent and at each identity assertion; it does not end what people have consented to. To end a client, suspend its agent.',
      tag: 'Organizations',
      method: 'PUT',
      url: '/organizations/:orgId/client-policy',
      access,
      limit: 'caller',
      schema: { params: Params, body: ClientPolicyChange, response: { 200: ClientPolicy } },
      errors: ['ORG_NOT_FOUND'],
      handler: ({ caller, params, body }) => put(caller, params.orgId, body),
    }),
  ];
}
