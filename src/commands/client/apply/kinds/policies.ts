/** The client policy and the approval policy of an organization. It always has both, so none is created or deleted. */
import { limits } from '../../../../contract/limits.ts';
import { type Change, labelOf, type Planning } from '../change.ts';
import { differences, requireUnchanged } from '../compare.ts';
import {
  type ApprovalPolicyEntry,
  type ClientPolicyEntry,
  type LiveApprovalPolicy,
  type LiveClientPolicy,
  managedFields,
} from '../file/entries.ts';
import type { Entry } from '../file/identity-file.ts';
import { organizationIdOf, type Reference } from '../references.ts';
import { ofOrganization } from './of-organization.ts';

interface Policies<PolicyEntry, Live> {
  readonly kind: Change['kind'];
  /** Below the organization. */
  readonly path: string;
  readonly fields: readonly string[];
  readonly entries: readonly Entry<PolicyEntry>[] | undefined;
  readonly live: ReadonlyMap<string, Live>;
  /** Of an organization that has set none. */
  readonly none: Live;
  /** The whole policy: fields that the entry leaves out stay as they are. */
  wantedOf(entry: PolicyEntry, live: Live): Live;
}

export const planClientPolicies = (planning: Planning): Change[] =>
  planPolicies<ClientPolicyEntry, LiveClientPolicy>(planning, {
    kind: 'client policy',
    path: 'client-policy',
    fields: managedFields.clientPolicies,
    entries: planning.file.clientPolicies,
    live: planning.live.clientPolicies,
    none: { mode: 'any', domains: [] },
    // Host names as the server has them.
    wantedOf: ({ mode, domains }, live) => ({
      mode,
      domains: domains?.map((domain) => domain.toLowerCase()) ?? live.domains,
    }),
  });

export const planApprovalPolicies = (planning: Planning): Change[] =>
  planPolicies<ApprovalPolicyEntry, LiveApprovalPolicy>(planning, {
    kind: 'approval policy',
    path: 'approval-policy',
    fields: managedFields.approvalPolicies,
    entries: planning.file.approvalPolicies,
    live: planning.live.approvalPolicies,
    none: { maxAccessSeconds: limits.approval.maxAccessSeconds, selfApproval: false, requireTwo: [] },
    wantedOf: ({ organization: _, ...given }, live) => ({ ...live, ...given }),
  });

function planPolicies<PolicyEntry extends { readonly organization?: string }, Live extends object>(
  planning: Planning,
  policies: Policies<PolicyEntry, Live>,
): Change[] {
  const { references, problems } = planning;
  const { kind, entries = [], live, none } = policies;
  const named = new Set<string>();
  return entries.flatMap(({ value, at }): Change[] => {
    const owner = references.organization(value.organization, at('organization'));
    const found = owner && ofOrganization(planning, live, owner, none, at());
    if (!owner || !found) return [];
    if (named.has(owner.key)) problems.add(at(), `an earlier entry has the ${kind} of ${owner.label}`);
    named.add(owner.key);
    return setting(policies, policies.wantedOf(value, found), found, owner);
  });
}

function setting<PolicyEntry, Live extends object>(
  { kind, path, fields }: Policies<PolicyEntry, Live>,
  wanted: Live,
  live: Live,
  owner: Reference,
): Change[] {
  const changes = differences(fields, wanted, live);
  if (changes.length === 0) return [];
  const change = { action: 'update', kind, name: `of ${owner.label}`, fields: changes } as const;
  return [
    {
      ...change,
      async apply({ api, ids }) {
        const address = `/organizations/${organizationIdOf(ids, owner.key)}/${path}`;
        requireUnchanged(labelOf(change), changes, await api.find(address));
        await api.send('PUT', address, wanted);
      },
    },
  ];
}
