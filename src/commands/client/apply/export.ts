/** `countersign export`: the state of a server as an identity file. */
import { writeFileSync } from 'node:fs';
import { writeYaml } from '../../../adapters/yaml.ts';
import { plans } from '../../../contract/limits.ts';
import { CommandError } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { print, printError } from '../../terminal.ts';
import type { AccountOptions } from '../account.ts';
import { replacePrivateFile } from '../private-file.ts';
import { pick } from './compare.ts';
import { type LiveOrganization, type LiveResource, type LiveShare, managedFields } from './file/entries.ts';
import { createProblems } from './file/identity-file.ts';
import { requestedScopes } from './kinds/shares.ts';
import { type LiveState, readLiveState } from './live-state.ts';
import { createReferences, type References } from './references.ts';
import { openSession } from './session.ts';

export interface ExportOptions extends AccountOptions {
  readonly file?: string;
  readonly organization?: readonly string[];
  readonly force?: boolean;
}

export const header =
  '# An identity file for `countersign apply`: docs/guides/configuration-as-code.md, docs/reference/identity.schema.json\n';

const everything = {
  organizations: true,
  agents: 'all',
  people: new Set<undefined>(),
  resources: true,
  shares: 'all',
  grants: 'all',
  trustPolicies: 'all',
  webhooks: true,
} as const;

export async function exportState(io: Io, options: ExportOptions): Promise<void> {
  const { api, callerId } = await openSession(io, options, 'export');
  const names = new Set(options.organization ?? [undefined]);
  const live = await readLiveState(api, callerId, {
    ...everything,
    connections: names,
    clientPolicies: names,
    approvalPolicies: names,
  });
  const problems = createProblems();
  const references = createReferences({}, live, problems);
  const chosen = (options.organization ?? [undefined]).map((name) =>
    references.organization(name, '--organization'),
  );
  problems.throwIfAny();
  const state = stateOf(live, references, new Set(chosen.flatMap((reference) => reference?.key ?? [])));
  const text = `${header}${writeYaml(state)}`;
  if (options.file === undefined) {
    // A file must get the text as it is; a terminal must not.
    if (io.stdout.isTTY) print(io, text.trimEnd());
    else io.stdout.write(text);
    return;
  }
  writeIdentityFile(options.file, text, options.force ?? false);
  printError(io, `${options.file} written`);
}

/** With mode 0600: the URLs of webhooks can hold secrets of their receivers. */
export function writeIdentityFile(file: string, text: string, force: boolean): void {
  try {
    if (force) replacePrivateFile(file, text);
    else writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CommandError(
      code === 'EEXIST' ? `${file} exists; name another file, or use --force` : `cannot write: ${message}`,
    );
  }
}

function stateOf(live: LiveState, references: References, chosen: ReadonlySet<string>) {
  const { caller, organizations = [], agentsById, resources, shares, grants, trustPolicies, webhooks } = live;
  const owner = (organizationId: string) =>
    organizationId === caller.organizationId
      ? {}
      : { organization: references.organizationLabel(organizationId) };
  const agents = [...agentsById.values()].filter(
    ({ organizationId, status, clientUri }) =>
      chosen.has(organizationId) && status !== 'decommissioned' && !clientUri,
  );
  const agentIds = new Set(agents.map(({ agentId }) => agentId));
  const ofAgents = <T extends { agentId: string }>(things: readonly T[]) =>
    things.filter(({ agentId }) => agentIds.has(agentId)).toReversed();
  const own = chosen.has(caller.organizationId);
  return {
    version: 1,
    ...(live.organizations && {
      organizations: organizations
        .filter(({ organizationId, status }) => chosen.has(organizationId) && status !== 'deleted')
        .map(organizationEntry),
    }),
    // Lists are newest first; a file grows at its end.
    agents: agents.toReversed().map((agent) => ({
      email: agent.email,
      ...owner(agent.organizationId),
      ...withoutNulls(pick(managedFields.agents, agent)),
    })),
    ...connectionsOf(live, owner),
    resources: resources
      .filter(({ organizationId }) => chosen.has(organizationId))
      .toReversed()
      .map((resource) => ({
        ...resourceEntry(resource, owner(resource.organizationId)),
        ...sharesOf(shares.get(resource.resourceId), references),
      })),
    grants: ofAgents(grants).map(({ agentId, identifier, scopes }) => ({
      agent: references.agentLabel(agentId),
      resource: identifier,
      scopes,
    })),
    trustPolicies: ofAgents(trustPolicies).map((policy) => ({
      ...idOf(
        policy.policyId,
        trustPolicies.filter(({ agentId, name }) => agentId === policy.agentId && name === policy.name),
      ),
      agent: references.agentLabel(policy.agentId),
      ...pick(['name', 'provider', ...managedFields.trustPolicies.slice(1)], policy),
    })),
    ...(own && {
      webhooks: webhooks.map((webhook) => ({
        ...idOf(
          webhook.id,
          webhooks.filter(({ url }) => url === webhook.url),
        ),
        ...pick(managedFields.webhooks, webhook),
      })),
    }),
  };
}

/** Of the organizations whose people the client may manage. People are left out: a file invites no people. */
function connectionsOf(
  { connections, clientPolicies, approvalPolicies }: LiveState,
  owner: (organizationId: string) => object,
) {
  return {
    ...(connections.size > 0 && {
      connections: [...connections.values()].flatMap((ofOne) =>
        ofOne.toReversed().map((connection) => ({
          ...owner(connection.organizationId),
          ...pick(['name', 'issuer', ...managedFields.connections.slice(1)], connection),
        })),
      ),
    }),
    ...(clientPolicies.size > 0 && {
      clientPolicies: [...clientPolicies].map(([organizationId, policy]) => ({
        ...owner(organizationId),
        ...pick(managedFields.clientPolicies, policy),
      })),
    }),
    ...(approvalPolicies.size > 0 && {
      approvalPolicies: [...approvalPolicies].map(([organizationId, policy]) => ({
        ...owner(organizationId),
        ...pick(managedFields.approvalPolicies, policy),
      })),
    }),
  };
}

/** Only where the name does not identify it. */
const idOf = (id: string, alike: readonly unknown[]) => (alike.length > 1 ? { id } : {});

/** Without limits that are those of the plan. */
function organizationEntry({ slug, name, planTier, maxAgents, maxTokensPerMonth, status }: LiveOrganization) {
  const plan = plans[planTier];
  return {
    slug,
    name,
    planTier,
    ...(maxAgents !== plan.maxAgents && { maxAgents }),
    ...(maxTokensPerMonth !== plan.maxTokensPerMonthPerClient && { maxTokensPerMonth }),
    status,
  };
}

const withoutNulls = (fields: object) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

function resourceEntry(resource: LiveResource, owner: object) {
  const { scopes, ...rest } = pick(managedFields.resources, resource) as { scopes: LiveResource['scopes'] };
  return {
    identifier: resource.identifier,
    ...owner,
    ...withoutNulls(rest),
    scopes: scopes.map(({ name, description }) => (description === null ? name : { name, description })),
  };
}

const sharesOf = (shares: readonly LiveShare[] | undefined, references: References) =>
  shares && shares.length > 0
    ? {
        shares: shares.toReversed().map((share) => ({
          organization: references.organizationLabel(share.organizationId),
          scopes: requestedScopes(share),
        })),
      }
    : {};
