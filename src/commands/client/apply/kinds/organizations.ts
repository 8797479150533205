import { plans } from '../../../../contract/limits.ts';
import { ApiError } from '../../connection.ts';
import type { Change, Planning } from '../change.ts';
import { additions, differences, newValues, pick } from '../compare.ts';
import { type LiveOrganization, managedFields, type OrganizationEntry } from '../file/entries.ts';
import { updateOf } from './existing.ts';

const fields = managedFields.organizations;

export function planOrganizations({ file, live, problems }: Planning): Change[] {
  return (file.organizations ?? []).flatMap(({ value, at }): Change[] => {
    if (live.organizations === undefined) {
      problems.add(
        at(),
        'this client may not read organizations; it needs the role admin, or scope admin:orgs',
      );
      return [];
    }
    const found = live.organizations.find(({ slug }) => slug === value.slug);
    if (value.status === 'deleted') {
      if (!found || found.status === 'deleted') return [];
      if (found.organizationId === live.caller.organizationId)
        problems.add(at('status'), 'this client belongs to the organization, so it cannot delete it');
      return [deletion(found)];
    }
    if (found?.status === 'deleted') {
      problems.add(at('slug'), `organization ${value.slug} was deleted, and its slug stays taken`);
      return [];
    }
    return found ? update(value, found) : [creation(value)];
  });
}

/** Null stands for the plan's limit. */
const withPlanLimits = (
  wanted: OrganizationEntry,
  planTier: LiveOrganization['planTier'],
): OrganizationEntry => ({
  ...wanted,
  ...(wanted.maxAgents === null && { maxAgents: plans[planTier].maxAgents }),
  ...(wanted.maxTokensPerMonth === null && { maxTokensPerMonth: plans[planTier].maxTokensPerMonthPerClient }),
});

function creation(wanted: OrganizationEntry): Change {
  const { status = 'active', ...rest } = wanted;
  return {
    action: 'create',
    kind: 'organization',
    name: wanted.slug,
    fields: additions(fields, wanted),
    async apply({ api, ids }) {
      const body = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
      const { organizationId } = await api.create<LiveOrganization>('/organizations', body);
      ids.organizations.set(`new:${wanted.slug}`, organizationId);
      if (status !== 'active') await api.send('PATCH', `/organizations/${organizationId}`, { status });
    },
  };
}

function update(wanted: OrganizationEntry, live: LiveOrganization): Change[] {
  // A limit of the plan changes with the plan: it is compared with the limit of the wanted one.
  const changes = differences(fields, withPlanLimits(wanted, wanted.planTier ?? live.planTier), live);
  const changed = changes.map(({ field }) => field);
  return updateOf(
    { kind: 'organization', name: live.slug, path: `/organizations/${live.organizationId}` },
    changes,
    { body: { ...newValues(changes), ...pick(changed, wanted) } },
  );
}

function deletion({ organizationId, slug }: LiveOrganization): Change {
  return {
    action: 'delete',
    kind: 'organization',
    name: slug,
    fields: [],
    irreversible: true,
    remark: 'the organization ends for good, with all tokens of its agents; its slug stays taken',
    async apply({ api }) {
      try {
        await api.send('DELETE', `/organizations/${organizationId}`);
      } catch (error) {
        // Another client was first.
        if (!(error instanceof ApiError && error.status === 404)) throw error;
      }
    },
  };
}
