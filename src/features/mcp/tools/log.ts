/** What the audit log says: refusals, who acted for whom, and whether the log is intact. */
import type { Api } from '../../../../sdk/typescript/src/api.ts';
import type { AuditEvent } from '../../../../sdk/typescript/src/generated.ts';
import Type from '../../../contract/json-schema.ts';
import { pageSizes } from '../../../contract/limits.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { isUuid } from '../../../kernel/ids.ts';
import { tool } from '../tool.ts';
import { adviceFor } from './advice.ts';
import { AgentName, findAgent } from './named-agent.ts';

const msPerHour = 3_600_000;
const defaultHours = 24;
const maxEvents = 50;
const maxNames = 100;

const Hours = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 2_160,
    description: `How far to look back; ${defaultHours} hours by default.`,
  }),
);

const since = (clock: Clock, hours = defaultHours): string =>
  new Date(clock.now() - hours * msPerHour).toISOString();

const idOf = async (api: Pick<Api, 'listAgents'>, name: string | undefined): Promise<string | undefined> =>
  name === undefined ? undefined : (await findAgent(api, name)).agentId;

/** The metadata name the actor only where it is not the agent that the event is about. */
const shown = ({ eventId, timestamp, action, outcome, agentId, metadata }: AuditEvent) => {
  const { actorId = agentId, delegation = null, person, requestId, ...rest } = metadata;
  return {
    eventId,
    timestamp,
    action,
    outcome,
    actorId,
    aboutAgentId: agentId,
    actedFor: delegation,
    ...(person !== undefined && { person }),
    requestId,
    metadata: rest,
  };
};

/** The e-mail addresses of the agents in events, by id. */
async function namesIn(api: Pick<Api, 'listAgents'>, events: readonly ReturnType<typeof shown>[]) {
  const ids = events.flatMap(({ actorId, aboutAgentId, actedFor }) => [
    actorId,
    aboutAgentId,
    (actedFor as { subjectId?: unknown } | null)?.subjectId,
  ]);
  const known = [...new Set(ids)].filter((id) => typeof id === 'string' && isUuid(id)).slice(0, maxNames);
  if (known.length === 0) return {};
  const { data } = await api.listAgents({ query: { ids: known.join(','), limit: maxNames } });
  return Object.fromEntries(data.map(({ agentId, email }) => [agentId, email]));
}

export const refusals = tool({
  name: 'why_was_it_refused',
  title: 'Why was this call refused?',
  description:
    'The refusals of the last hours, newest first: token requests, calls of the API, sign-ins. Each has the reason that the server recorded, and what to do about it. Not recorded here: a call that lacks a scope, whose answer names the scope, and what an API of your own refuses.',
  input: Type.Object({
    agent: Type.Optional(AgentName),
    requestId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'The X-Request-Id of the call that was refused.',
      }),
    ),
    hours: Hours,
  }),
  operations: ['listAgents', 'listAuditEvents'],
  isReadOnly: true,
  async run({ agent, requestId, hours }, { api, clock }) {
    const agentId = await idOf(api, agent);
    const { data, total } = await api.listAuditEvents({
      query: {
        outcome: 'failure',
        fromDate: since(clock, hours),
        limit: requestId === undefined ? maxEvents : pageSizes.audit.max,
        ...(agentId !== undefined && { agentId }),
      },
    });
    const wanted = data.filter(({ metadata }) => requestId === undefined || metadata.requestId === requestId);
    const refusals = wanted.map((event) => ({ ...shown(event), whatToDo: adviceFor(event) }));
    return { total, searched: data.length, refusals, agents: await namesIn(api, refusals) };
  },
});

export const actions = tool({
  name: 'who_acted_for_whom',
  title: 'Who acted for whom, and when?',
  description:
    'What happened in the organization, newest first: by one agent, to one agent, or of one kind. `actorId` acted, `aboutAgentId` is the agent that it was about. Where the actor acted for another agent or a person, `actedFor` names the subject and the delegation chain. `agents` has the e-mail addresses of the ids.',
  input: Type.Object({
    actor: Type.Optional(AgentName),
    subject: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 254,
        description: 'The agent that something was done to, named like the actor.',
      }),
    ),
    action: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'The name of an event, such as token.issued or consent.granted.',
      }),
    ),
    hours: Hours,
  }),
  operations: ['listAgents', 'listAuditEvents'],
  isReadOnly: true,
  async run({ actor, subject, action, hours }, { api, clock }) {
    const [actorId, agentId] = [await idOf(api, actor), await idOf(api, subject)];
    const { data, total } = await api.listAuditEvents({
      query: {
        fromDate: since(clock, hours),
        limit: maxEvents,
        ...(actorId !== undefined && { actorId }),
        ...(agentId !== undefined && { agentId }),
        ...(action !== undefined && { action }),
      },
    });
    const events = data.map(shown);
    return { total, events, agents: await namesIn(api, events) };
  },
});

export const verifyLog = tool({
  name: 'verify_the_log',
  title: 'Verify the audit log',
  description:
    'Checks every hash and signature of the audit log of the organization, on the server. For a proof that does not trust the server: `countersign audit verify`.',
  input: Type.Object({}),
  operations: ['verifyAudit'],
  isReadOnly: true,
  run: async (_, { api }) => api.verifyAudit(),
});
