/** The events that a subscription can choose, in groups as the form shows them. */
import { webhookEventTypes } from '../../api/generated.ts';

const titles: Readonly<Record<string, string>> = {
  agent: 'Agents',
  credential: 'Credentials',
  token: 'Tokens',
  resource: 'APIs',
  grant: 'Grants',
  share: 'Shared APIs',
  delegation: 'Delegations',
  trust_policy: 'Trust policies',
  member: 'Members',
  person: 'People',
  session: 'Console sessions',
  policy: 'Policies',
};

interface EventGroup {
  readonly title: string;
  readonly events: readonly string[];
}

const subjectOf = (event: string): string => event.split('.')[0] ?? event;

export const eventGroups: readonly EventGroup[] = [...new Set(webhookEventTypes.map(subjectOf))].map(
  (subject) => ({
    title: titles[subject] ?? subject,
    events: webhookEventTypes.filter((event) => subjectOf(event) === subject),
  }),
);

/** "All events", or how many. */
export const describeEvents = (events: readonly string[]): string =>
  events.includes('*') ? 'All events' : events.length === 1 ? (events[0] ?? '') : `${events.length} events`;
