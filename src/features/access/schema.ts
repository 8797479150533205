import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { pageSizes } from '../../contract/limits.ts';
import { Grant, literals, Nullable, Timestamp, Uuid } from '../../contract/shapes.ts';

/** As many as the largest page of the routes that list all of them. */
export const maxEntries = pageSizes.standard.max;

const PartyType = literals(['agent', 'person']);

const DelegatedAccess = Type.Object(
  {
    chainId: Uuid,
    subjectType: PartyType,
    subjectId: Uuid,
    delegatorType: PartyType,
    delegatorId: Uuid,
    audiences: Type.Array(Type.String(), {
      description: 'what the tokens are for: our own issuer for our own API',
    }),
    scopes: Type.Array(Type.String(), {
      description:
        'the scopes that every link lends and that the subject may hold now; empty: no token is issued',
    }),
    expiresAt: Timestamp,
  },
  { title: 'DelegatedAccess' },
);
export type DelegatedAccess = Static<typeof DelegatedAccess>;

const PolicyAccess = Type.Object(
  {
    policyId: Uuid,
    name: Type.String(),
    issuer: Type.String({ description: "of the workload's tokens" }),
    subject: Nullable(
      Type.String({ description: "the subject of the workload's tokens, or a pattern with *" }),
    ),
    scopes: Type.Array(Type.String(), {
      description: 'scopes of our own API that the policy gives and that the agent may hold now',
    }),
    resources: Type.Array(
      Type.Object(
        { identifier: Type.String(), scopes: Type.Array(Type.String()) },
        { title: 'PolicyResourceAccess' },
      ),
      { description: 'scopes of registered APIs that the policy gives and that the agent may hold now' },
    ),
    actsAsAdmin: Type.Boolean({ description: 'whether the workload has the role admin of the agent now' }),
  },
  { title: 'PolicyAccess' },
);
export type PolicyAccess = Static<typeof PolicyAccess>;

export const AgentAccess = Type.Object(
  {
    agentId: Uuid,
    active: Type.Boolean({
      description: 'whether the agent can get tokens now; if not, every list is empty and the role is null',
    }),
    inactiveReason: Type.Union([Type.String({ description: 'why it can get no token' }), Type.Null()], {
      examples: [null],
    }),
    role: Nullable(literals(['admin', 'member'])),
    own: Type.Array(Type.String({ examples: ['agents:read'] }), {
      description: 'scopes of our own API that a token of its own can carry',
    }),
    grants: Type.Array(Grant, { description: 'scopes of registered APIs, newest first' }),
    delegated: Type.Array(DelegatedAccess, {
      description: 'active delegations to this agent, newest first',
    }),
    trustPolicies: Type.Array(PolicyAccess, {
      description: 'active policies that let workloads of other issuers become this agent, newest first',
    }),
    truncated: Type.Boolean({
      description: `whether a list has more than ${maxEntries} entries; the first ${maxEntries} are shown`,
    }),
  },
  { title: 'AgentAccess' },
);
export type AgentAccess = Static<typeof AgentAccess>;

export const AgentParams = Type.Object({ agentId: Uuid });
