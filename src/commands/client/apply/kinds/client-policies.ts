import { type Change, labelOf, type Planning } from '../change.ts';
import { differences, requireUnchanged } from '../compare.ts';
import { type ClientPolicyEntry, type LiveClientPolicy, managedFields } from '../file/entries.ts';
import { organizationIdOf, type Reference } from '../references.ts';
import { ofOrganization } from './of-organization.ts';

const fields = managedFields.clientPolicies;
/** Of an organization that has set none. */
const defaultPolicy: LiveClientPolicy = { mode: 'any', domains: [] };

/** An organization always has a policy, so none is created or deleted. */
export function planClientPolicies(planning: Planning): Change[] {
  const { file, live, references, problems } = planning;
  const named = new Set<string>();
  return (file.clientPolicies ?? []).flatMap(({ value, at }): Change[] => {
    const owner = references.organization(value.organization, at('organization'));
    const found = owner && ofOrganization(planning, live.clientPolicies, owner, defaultPolicy, at());
    if (!owner || !found) return [];
    if (named.has(owner.key)) problems.add(at(), `an earlier entry has the client policy of ${owner.label}`);
    named.add(owner.key);
    return setting(value, found, owner);
  });
}

function setting({ mode, domains }: ClientPolicyEntry, live: LiveClientPolicy, owner: Reference): Change[] {
  // Host names as the server has them.
  const wanted = { mode, domains: domains?.map((domain) => domain.toLowerCase()) ?? live.domains };
  const changes = differences(fields, wanted, live);
  if (changes.length === 0) return [];
  const change = {
    action: 'update',
    kind: 'client policy',
    name: `of ${owner.label}`,
    fields: changes,
  } as const;
  return [
    {
      ...change,
      async apply({ api, ids }) {
        const path = `/organizations/${organizationIdOf(ids, owner.key)}/client-policy`;
        requireUnchanged(labelOf(change), changes, await api.find(path));
        await api.send('PUT', path, wanted);
      },
    },
  ];
}
