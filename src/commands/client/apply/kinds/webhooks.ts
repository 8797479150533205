/** Webhooks. The path of a webhook's URL is often a secret of the receiver, so only the origin is printed. */

import type { Change, Planning } from '../change.ts';
import { additions, differences, type FieldChange, pick } from '../compare.ts';
import { type LiveWebhook, managedFields, type WebhookEntry } from '../file/entries.ts';
import type { Entry } from '../file/identity-file.ts';
import { deletionOf, type Existing, updateOf } from './existing.ts';

const fields = managedFields.webhooks;

export function planWebhooks(planning: Planning): Change[] {
  const { file, live, references, problems, pruned } = planning;
  if (!file.webhooks) return [];
  const own = live.caller.organizationId;
  const label = references.organizationLabel(own);
  const kept = new Set<string>();
  const named = new Set<string>();
  const changes = file.webhooks.flatMap((entry): Change[] => {
    const { value, at } = entry;
    const owner = references.organization(value.organization, at('organization'));
    if (!owner) return [];
    if (owner.key !== own) {
      problems.add(
        at('organization'),
        `the webhooks of ${owner.label} can be managed only by a client of that organization`,
      );
      return [];
    }
    const key = value.id?.toLowerCase() ?? value.url;
    if (named.has(key))
      problems.add(at('url'), 'an earlier entry has this url; add the ids if there are two');
    named.add(key);
    const found = findWebhook(planning, entry);
    if (found === 'problem') return [];
    if (!found) return [creation(value, label)];
    kept.add(found.id);
    return update(value, found, label);
  });
  if (!pruned?.has(own)) return changes;
  const absent = live.webhooks.filter(({ id }) => !kept.has(id));
  return [...changes, ...absent.map((webhook) => deletion(webhook, label))];
}

function findWebhook(
  { live, problems }: Planning,
  { value, at }: Entry<WebhookEntry>,
): LiveWebhook | undefined | 'problem' {
  const found = live.webhooks.filter(({ id, url }) =>
    value.id === undefined ? url === value.url : id === value.id.toLowerCase(),
  );
  if (found.length > 1)
    problems.add(at('url'), `there are ${found.length} webhooks with this url; add the id of one`);
  else if (found.length === 0 && value.id !== undefined)
    problems.add(at('id'), 'the organization has no webhook with this id');
  else return found[0];
  return 'problem';
}

/** `https://hooks.example.com/…` */
function withoutPath(url: string): string {
  const { origin, pathname, search } = URL.parse(url) ?? { origin: 'an address', pathname: '/', search: '' };
  return pathname === '/' && search === '' ? origin : `${origin}/…`;
}

const nameOf = ({ name, url }: Pick<LiveWebhook, 'name' | 'url'>) => `${name} (${withoutPath(url)})`;

const withoutPaths = (changes: readonly FieldChange[]): FieldChange[] =>
  changes.map((change) =>
    change.field === 'url'
      ? { field: 'url', from: withoutPath(String(change.from)), to: withoutPath(String(change.to)) }
      : change,
  );

function creation(wanted: WebhookEntry, organization: string): Change {
  const { name, url, events, active = true } = wanted;
  return {
    action: 'create',
    kind: 'webhook',
    name: nameOf(wanted),
    organization,
    fields: additions(['events', 'active'], wanted),
    async apply({ api, keepSecret }) {
      const created = await api.create<LiveWebhook & { signingSecret: string }>('/webhooks', {
        name,
        url,
        events,
      });
      const { id, signingSecret } = created;
      keepSecret({ kind: 'webhook', name, url: withoutPath(url), id, signingSecret });
      if (!active) await api.send('PATCH', `/webhooks/${id}`, { active });
    },
  };
}

const existing = (live: LiveWebhook, organization: string): Existing => ({
  kind: 'webhook',
  name: nameOf(live),
  organization,
  path: `/webhooks/${live.id}`,
});

function update(wanted: WebhookEntry, live: LiveWebhook, organization: string): Change[] {
  const changes = differences(fields, pick(fields, wanted), live);
  return updateOf(existing(live, organization), changes, { fields: withoutPaths(changes) });
}

function deletion(live: LiveWebhook, organization: string): Change {
  const remark = 'its deliveries end with it';
  return deletionOf({ ...existing(live, organization), remark }, fields, live);
}
