/**
 * The published formats as JSON Schemas, written from their definitions: the A2A 1.0 AgentCard (a2a.proto), the OASF 0.7.0
 * record, and the AGNTCY Agent Badge as a W3C Verifiable Credential 2.0. They filter responses, and the conformance check
 * validates cards against them.
 */
import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { Timestamp, Uuid } from '../../contract/shapes.ts';

const Text = Type.String({ minLength: 1 });
const Uri = Type.String({ format: 'uri' });
const Base64 = Type.String({ pattern: '^[A-Za-z0-9+/]+={0,2}$' });
const Base64Url = Type.String({ pattern: '^[A-Za-z0-9_-]+$' });
const strict = { additionalProperties: false };
const unchecked = 'as registered here, neither verified nor unique; `organizationId` is unique';
const Owner = Type.String({ minLength: 1, description: 'free text, as registered; not verified' });

const AgentSkill = Type.Object(
  { id: Text, name: Text, description: Text, tags: Type.Array(Text, { minItems: 1 }) },
  strict,
);

export const A2aCard = Type.Object(
  {
    name: Text,
    description: Text,
    supportedInterfaces: Type.Array(
      Type.Object({ url: Uri, protocolBinding: Text, protocolVersion: Text }, strict),
    ),
    provider: Type.Object(
      {
        organization: Type.String({
          ...Text,
          description: `the organization's registered name; ${unchecked}`,
        }),
        url: Uri,
      },
      strict,
    ),
    version: Text,
    capabilities: Type.Object(
      {
        extensions: Type.Array(
          Type.Object(
            {
              uri: Uri,
              description: Text,
              params: Type.Object(
                { did: Text, identityProvider: Uri, organizationId: Uuid, owner: Owner },
                strict,
              ),
            },
            strict,
          ),
        ),
      },
      strict,
    ),
    defaultInputModes: Type.Array(Text, { minItems: 1 }),
    defaultOutputModes: Type.Array(Text, { minItems: 1 }),
    skills: Type.Array(AgentSkill, { minItems: 1 }),
    signatures: Type.Optional(
      Type.Array(Type.Object({ protected: Base64Url, signature: Base64Url }, strict), { minItems: 1 }),
    ),
  },
  { ...strict, title: 'A2aAgentCard' },
);
export type A2aCard = Static<typeof A2aCard>;

/**
 * The OASF skills that we know. In the schema of 0.7.0 every class has one id and one name; a record with a mismatched pair is
 * invalid.
 */
export const oasfSkills = {
  topicLabeling: { id: 10901, name: 'natural_language_processing/text_classification/topic_labeling' },
  factExtraction: {
    id: 10301,
    name: 'natural_language_processing/information_retrieval_synthesis/fact_extraction',
  },
  summarization: {
    id: 10202,
    name: 'natural_language_processing/natural_language_generation/summarization',
  },
  problemSolving: { id: 10702, name: 'natural_language_processing/analytical_reasoning/problem_solving' },
} as const;

const OasfSkill = Type.Unsafe<{ id: number; name: string }>(
  Type.Union(
    Object.values(oasfSkills).map(({ id, name }) =>
      Type.Object({ id: Type.Literal(id), name: Type.Literal(name) }, strict),
    ),
  ),
);

export const OasfRecord = Type.Object(
  {
    schema_version: Type.Literal('0.7.0'),
    name: Text,
    version: Text,
    description: Text,
    authors: Type.Array(Text, {
      minItems: 1,
      description: `the organization's registered name; ${unchecked}`,
    }),
    created_at: Timestamp,
    skills: Type.Array(OasfSkill, {
      description:
        'the classes of the OASF catalogue that a capability of the agent names, such as `text_classification:topic_labeling`; often none',
    }),
    locators: Type.Array(
      Type.Object(
        {
          type: Type.Unsafe<string>({
            type: 'string',
            enum: ['unspecified', 'helm_chart', 'docker_image', 'python_package', 'source_code', 'binary'],
          }),
          url: Uri,
        },
        strict,
      ),
      { minItems: 1 },
    ),
    annotations: Type.Record(Type.String(), Type.String(), {
      description:
        "the agent's own fields and `organizationId` as text; `owner` is free text and not verified",
    }),
    signature: Type.Optional(
      Type.Object(
        {
          signed_at: Timestamp,
          algorithm: Text,
          signature: Base64,
          content_type: Text,
          content_bundle: Base64,
        },
        strict,
      ),
    ),
  },
  { ...strict, title: 'OasfRecord' },
);
export type OasfRecord = Static<typeof OasfRecord>;

/** The signed content of a badge. */
export const BadgeCredential = Type.Object(
  {
    '@context': Type.Array(Uri, { minItems: 1 }),
    id: Uri,
    type: Type.Array(Text, { minItems: 2, contains: { const: 'AgentBadge' } }),
    issuer: Type.String({ pattern: '^did:' }),
    validFrom: Timestamp,
    validUntil: Timestamp,
    credentialSubject: Type.Object({ id: Type.String({ pattern: '^did:' }), badge: OasfRecord }, strict),
    credentialSchema: Type.Array(Type.Object({ id: Uri, type: Type.Literal('JsonSchema') }, strict)),
  },
  { ...strict, title: 'AgentBadgeCredential' },
);
export type BadgeCredential = Static<typeof BadgeCredential>;

/** How JSON carries a credential that is secured as a JWS (VC Data Model 2.0, "Enveloped Verifiable Credentials"). */
export const Badge = Type.Object(
  {
    '@context': Type.String(),
    id: Type.String({ pattern: '^data:application/vc\\+jwt,[\\w-]+\\.[\\w-]+\\.[\\w-]+$' }),
    type: Type.Literal('EnvelopedVerifiableCredential'),
  },
  { ...strict, title: 'AgentBadge' },
);
export type Badge = Static<typeof Badge>;
