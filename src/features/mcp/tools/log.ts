/** What the audit log says: refusals, who acted for whom, and whether the log is intact. */
import type { Api } from '../../../../sdk/typescript/src/api.ts';
import type { AuditEvent } from '../../../../sdk/typescript/src/generated.ts';
import Type from '../../../contract/json-schema.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { tool } from '../tool.ts';
import { adviceFor } from './advice.ts';
import { AgentName, findAgent } from './named-agent.ts';

const msPerHour = 3_600_000;
const defaultHours = 24;
const maxEvents = 50;

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

const shown = ({ eventId, timestamp, action, outcome, agentId, metadata }: AuditEvent) => ({
  eventId,
  timestamp,
  action,
  outcome,
  agentId,
  metadata,
});

export const refusals = tool({
  name: 'why_was_it_refused',
  title: 'Why was this call refused?',
  description:
    'The refusals of the last hours, newest first: token requests, calls of the API, sign-ins. Each has the reason that the server recorded, and what to do about it. An API of your own that refuses a token keeps its own log.',
  input: Type.Object({ agent: Type.Optional(AgentName), hours: Hours }),
  operations: ['listAgents', 'listAuditEvents'],
  isReadOnly: true,
  async run({ agent, hours }, { api, clock }) {
    const agentId = await idOf(api, agent);
    const { data, total } = await api.listAuditEvents({
      query: {
        outcome: 'failure',
        fromDate: since(clock, hours),
        limit: maxEvents,
        ...(agentId !== undefined && { agentId }),
      },
    });
    return { total, refusals: data.map((event) => ({ ...shown(event), whatToDo: adviceFor(event) })) };
  },
});

export const actions = tool({
  name: 'who_acted_for_whom',
  title: 'Who acted for whom, and when?',
  description:
    'What happened in the organization, newest first: by one agent, or of one kind. Where an agent acted for another agent or a person, `metadata.delegation` names the subject and the chain.',
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
    return { total, events: data.map(shown) };
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
