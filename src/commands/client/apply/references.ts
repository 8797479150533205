/** How entries name other things: slugs, names, e-mail addresses, identifiers and ids, resolved to one key per thing. */
import { isUuid } from '../../../kernel/ids.ts';
import { quoted } from '../../terminal.ts';
import { keyOfEmail, type LiveAgent, type LiveResource } from './file/entries.ts';
import type { IdentityFile, Problems } from './file/identity-file.ts';
import { suggestion } from './file/nearest.ts';
import type { LiveState } from './live-state.ts';
import { organizationNamed } from './organization-named.ts';

export interface Reference {
  /** Of an organization: its id, or `new:` and its slug. Of an agent: its e-mail address in lower case, or its id. Of a resource: its identifier. */
  readonly key: string;
  /** For people. */
  readonly label: string;
}

export interface References {
  /** Without a text: the caller's organization. Undefined after a problem, which is reported. */
  organization(text: string | undefined, at: string): Reference | undefined;
  agent(text: string, at: string): Reference | undefined;
  resource(text: string, at: string): Reference | undefined;
  organizationLabel(organizationId: string): string;
  agentLabel(agentId: string): string;
  resourceOf(key: string): LiveResource | undefined;
  /** The ids of all things that exist. */
  readonly ids: Ids;
}

/** By key. */
export interface Ids {
  readonly organizations: Map<string, string>;
  readonly agents: Map<string, string>;
  readonly resources: Map<string, string>;
}

/** This run creates it. */
export const isNew = ({ key }: Reference): boolean => key.startsWith(newKey(''));

const maxListed = 10;

const listed = (candidates: readonly string[]): string =>
  [
    ...candidates.slice(0, maxListed).map(quoted),
    ...(candidates.length > maxListed ? [`${candidates.length - maxListed} more`] : []),
  ].join(', ');

const newKey = (slug: string) => `new:${slug}`;

export function createReferences(file: IdentityFile, live: LiveState, problems: Problems): References {
  const { organizations = [], agents, agentsById, caller } = live;
  const slugs = new Map(organizations.map((organization) => [organization.slug, organization]));
  const byId = new Map(organizations.map((organization) => [organization.organizationId, organization]));
  const fileSlugs = new Set((file.organizations ?? []).map(({ value }) => value.slug));
  const fileEmails = new Map((file.agents ?? []).map(({ value }) => [keyOfEmail(value.email), value.email]));
  const fileIdentifiers = new Set((file.resources ?? []).map(({ value }) => value.identifier));
  const byIdentifier = new Map(live.resources.map((resource) => [resource.identifier, resource]));
  const byResourceId = new Map(live.resources.map((resource) => [resource.resourceId, resource]));
  const organizationLabel = (organizationId: string) => byId.get(organizationId)?.slug ?? organizationId;

  const organization: References['organization'] = (text, at) => {
    if (text === undefined)
      return { key: caller.organizationId, label: organizationLabel(caller.organizationId) };
    // An organization that the caller does not see can still be shared with; the server decides.
    if (isUuid(text) && !(live.organizations && caller.isOperator && !byId.has(text.toLowerCase())))
      return { key: text.toLowerCase(), label: organizationLabel(text.toLowerCase()) };
    const { found, named } = organizationNamed(text, organizations, fileSlugs);
    if (found?.status === 'deleted') problems.add(at, `organization ${quoted(text)} was deleted`);
    else if (found && found.slug !== text && named.length > 1)
      problems.add(
        at,
        `${named.length} organizations are named ${quoted(text)}; give the slug of one: ${listed(named.map(({ slug }) => slug))}`,
      );
    else if (found) return { key: found.organizationId, label: found.slug };
    else if (fileSlugs.has(text)) return { key: newKey(text), label: text };
    else if (live.organizations === undefined)
      problems.add(
        at,
        `this client may not list organizations (needs the role admin, or scope admin:orgs): give the id instead of ${quoted(text)}`,
      );
    else
      problems.add(
        at,
        `there is no organization ${quoted(text)}${suggestion(text, [...slugs.keys(), ...fileSlugs])}`,
      );
    return undefined;
  };

  /** The id, where the address means an agent of another organization. */
  const keyOf = ({ agentId, email }: LiveAgent): string =>
    agents.get(keyOfEmail(email))?.agentId === agentId ? keyOfEmail(email) : agentId;

  const agent: References['agent'] = (text, at) => {
    const found = isUuid(text) ? agentsById.get(text.toLowerCase()) : agents.get(keyOfEmail(text));
    if (found) return { key: keyOf(found), label: found.email };
    const email = fileEmails.get(keyOfEmail(text));
    if (email !== undefined) return { key: keyOfEmail(email), label: email };
    const namesakes = [...agentsById.values()].filter((one) => keyOfEmail(one.email) === keyOfEmail(text));
    if (namesakes.length > 0) {
      const each = namesakes.map((one) => `${one.agentId} of ${organizationLabel(one.organizationId)}`);
      problems.add(at, `several organizations have an agent ${quoted(text)}; give the id: ${listed(each)}`);
      return undefined;
    }
    problems.add(at, `there is no agent ${quoted(text)}${suggestion(text, fileEmails.values())}`);
    return undefined;
  };

  const resource: References['resource'] = (text, at) => {
    const found = byIdentifier.get(text) ?? byResourceId.get(text.toLowerCase());
    if (found) return { key: found.identifier, label: found.identifier };
    if (fileIdentifiers.has(text)) return { key: text, label: text };
    const known = [...byIdentifier.keys(), ...fileIdentifiers];
    problems.add(at, `there is no API ${quoted(text)}${suggestion(text, known)}`);
    return undefined;
  };

  return {
    organization,
    agent,
    resource,
    organizationLabel,
    agentLabel: (agentId) => agentsById.get(agentId)?.email ?? agentId,
    resourceOf: (key) => byIdentifier.get(key),
    ids: {
      organizations: new Map(),
      agents: new Map([...agentsById.values()].map((one) => [keyOf(one), one.agentId])),
      resources: new Map(live.resources.map(({ identifier, resourceId }) => [identifier, resourceId])),
    },
  };
}

/** The organization's own key is its id, unless this run creates it. */
export function organizationIdOf({ organizations }: Ids, key: string): string {
  return key.startsWith(newKey('')) ? required(organizations.get(key), key) : key;
}
export const agentIdOf = ({ agents }: Ids, key: string): string => required(agents.get(key), key);
export const resourceIdOf = ({ resources }: Ids, key: string): string => required(resources.get(key), key);

function required(id: string | undefined, key: string): string {
  if (id === undefined) throw new Error(`${key} has no id yet`);
  return id;
}

/**
 * The organizations whose things --prune deletes: those that the file lists, those that its agents, connections, resources and webhooks
 * name, and the caller's own if one of these names none.
 */
export function prunedOrganizations(file: IdentityFile, references: References): Set<string> {
  const { agents = [], connections = [], resources = [], webhooks = [] } = file;
  const owners = [...agents, ...connections, ...resources, ...webhooks];
  const named = [
    ...(file.organizations ?? []).map(({ value, at }) => references.organization(value.slug, at('slug'))),
    ...owners.map(({ value, at }) => references.organization(value.organization, at('organization'))),
  ];
  return new Set(named.flatMap((reference) => reference?.key ?? []));
}
