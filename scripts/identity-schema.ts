/**
 * The JSON Schema of the files of `countersign apply`, for editors and for the command itself. The fields are those of the API's
 * requests. References between entries are names instead of ids.
 */
interface Schema {
  readonly [keyword: string]: unknown;
  readonly type?: string | readonly string[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly $ref?: string;
}
type Fields = Readonly<Record<string, Schema>>;

const reference = (description: string): Schema => ({
  type: 'string',
  minLength: 1,
  maxLength: 512,
  description,
});
const ownerReference = reference(
  'The organization that it belongs to: slug, unique name or id. By default that of the client that applies the file.',
);
const agentReference = reference('The agent: its e-mail address or id.');
const organizationReference = reference('An organization: slug, unique name or id.');

const secretSource: Schema = {
  type: 'object',
  description:
    'Where the client secret is: the variable (env), or the file (file), relative to this file. It is sent with a new connection or a new clientId, and with --send-secrets.',
  minProperties: 1,
  maxProperties: 1,
  properties: {
    env: {
      type: 'string',
      maxLength: 255,
      pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
      description: 'The name of an environment variable.',
    },
    file: { type: 'string', minLength: 1, maxLength: 4096, description: 'The path of a file.' },
  },
  additionalProperties: false,
};

const id: Schema = {
  type: 'string',
  pattern: '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$',
};

/** The server knows the exact rules of addresses; some depend on its configuration. */
const addressFields: ReadonlySet<string> = new Set(['identifier', 'issuer', 'jwksUri', 'url']);
const address = '^https?://';

export function identitySchema(openapi: object): object {
  const { schemas } = (openapi as { components: { schemas: Record<string, Schema> } }).components;
  const named = (name: string): Schema => {
    const schema = schemas[name];
    if (!schema) throw new Error(`the OpenAPI document has no schema ${name}`);
    return plain(schema, schemas);
  };
  const fieldsOf = (name: string): Fields => named(name).properties ?? {};
  const requiredOf = (name: string) => named(name).required ?? [];
  const field = (schema: string, name: string): Schema => fieldsOf(schema)[name] as Schema;

  const { organization_id: _, ...agentFields } = fieldsOf('NewAgent');
  const { agentId: __, ...policyFields } = fieldsOf('NewTrustPolicy');
  const { clientSecret: ____, ...connectionFields } = fieldsOf('NewConnection');
  const scopeNames = field('ResourceScopeNames', 'scopes');
  const { type: ___, ...scopeName } = field('NewResourceScope', 'name');

  const entries: Readonly<Record<string, Schema>> = {
    organizations: entry(
      'An organization; its slug identifies it.',
      {
        ...fieldsOf('NewOrganization'),
        ...withDescription(fieldsOf('OrganizationChange'), {
          maxAgents: "The organization's own limit; null for the limit of its plan.",
          maxTokensPerMonth: "The organization's own limit, per client; null for the limit of its plan.",
        }),
        status: {
          type: 'string',
          enum: ['active', 'suspended', 'deleted'],
          description: 'With deleted, the organization ends for good.',
        },
      },
      requiredOf('NewOrganization'),
    ),
    agents: entry(
      'An agent; its e-mail address identifies it.',
      {
        ...agentFields,
        organization: ownerReference,
        status: {
          ...field('AgentChange', 'status'),
          description: 'With decommissioned, the agent ends for good, and its e-mail address stays taken.',
        },
      },
      requiredOf('NewAgent'),
    ),
    connections: entry(
      'A connection; its organization, its issuer and its client id identify it.',
      {
        id: { ...id, description: 'Its id, to change the client id.' },
        organization: ownerReference,
        ...connectionFields,
        clientSecret: secretSource,
        status: field('ConnectionChange', 'status'),
      },
      requiredOf('NewConnection').filter((name) => name !== 'clientSecret'),
    ),
    clientPolicies: entry(
      'Which clients with a metadata document an organization admits.',
      { organization: ownerReference, ...fieldsOf('ClientPolicyChange') },
      requiredOf('ClientPolicyChange'),
    ),
    approvalPolicies: entry(
      'How long access by an approval may last, and who counts as an approver.',
      { organization: ownerReference, ...withoutDefaults(fieldsOf('ApprovalPolicyChange')) },
      [],
    ),
    people: entry(
      'The role of a person who was invited or has signed in, named by id, by issuer and subject, or by email and connection.',
      {
        id: { ...id, description: 'The personId.' },
        organization: ownerReference,
        issuer: field('NewPerson', 'issuer'),
        subject: field('NewPerson', 'subject'),
        email: field('NewPerson', 'email'),
        connection: reference('The connection of the last sign-in, or of the invitation: its name or id.'),
        role: field('NewPerson', 'role'),
        agent: reference('The agent through which an admin or a viewer acts: its e-mail address or id.'),
        status: {
          type: 'string',
          enum: ['active', 'suspended', 'removed'],
          description: 'With suspended or removed, all that agents may do for the person ends for good.',
        },
      },
      [],
    ),
    resources: entry(
      'A registered API; its identifier identifies it.',
      {
        ...fieldsOf('NewResource'),
        organization: ownerReference,
        approvers: {
          ...field('NewResource', 'approvers'),
          items: { ...id, description: 'The personId of a person.' },
        },
        scopes: {
          ...field('NewResource', 'scopes'),
          items: {
            ...scopeName,
            type: ['string', 'object'],
            required: ['name'],
            properties: fieldsOf('NewResourceScope'),
            additionalProperties: false,
            description: 'The name of a scope, or its name and description.',
          },
        },
        shares: {
          type: 'array',
          maxItems: 1_000,
          description:
            'The other organizations that may grant scopes to their agents. Without it, shares are left as they are.',
          items: entry('A share.', { organization: organizationReference, scopes: scopeNames }, [
            'organization',
            'scopes',
          ]),
        },
      },
      requiredOf('NewResource'),
    ),
    grants: entry(
      'The scopes of a resource that an agent may hold.',
      {
        agent: agentReference,
        resource: reference('The resource: its identifier or id.'),
        scopes: scopeNames,
      },
      ['agent', 'resource', 'scopes'],
    ),
    trustPolicies: entry(
      'A trust policy; its agent and its name identify it.',
      {
        id: {
          ...id,
          description: 'Its id, if the agent has several policies of this name, or to rename it.',
        },
        agent: agentReference,
        ...policyFields,
      },
      ['agent', ...requiredOf('NewTrustPolicy').filter((name) => name !== 'agentId')],
    ),
    webhooks: entry(
      'A webhook subscription; its organization and its URL identify it.',
      {
        id: { ...id, description: 'Its id, if there are several with this URL, or to change the URL.' },
        organization: ownerReference,
        ...fieldsOf('NewWebhookSubscription'),
        active: field('WebhookSubscriptionChange', 'active'),
      },
      requiredOf('NewWebhookSubscription'),
    ),
  };

  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Countersign identity file',
    description:
      'Generated from the API by `npm run openapi`; do not edit. The guide is docs/guides/configuration-as-code.md.',
    type: 'object',
    required: ['version'],
    properties: {
      $schema: { type: 'string' },
      version: { type: 'integer', const: 1, description: 'The version of this format.' },
      ...Object.fromEntries(
        Object.keys(entries).map((kind) => [
          kind,
          { type: 'array', items: { $ref: `#/definitions/${kind}` } },
        ]),
      ),
    },
    additionalProperties: false,
    definitions: entries,
  };
}

const entry = (description: string, properties: Fields, required: readonly string[]): Schema => ({
  type: 'object',
  description,
  required,
  properties,
  additionalProperties: false,
});

/** A field that an entry leaves out stays as it is. */
const withoutDefaults = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, { default: _, ...schema }]) => [name, schema as Schema]),
  );

const withDescription = (fields: Fields, descriptions: Readonly<Record<string, string>>): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => {
      const description = descriptions[name];
      return [name, description === undefined ? schema : { ...schema, description }];
    }),
  );

/** References resolved, and `anyOf` with null as one type: so each wrong value has one problem. */
function plain(schema: Schema, schemas: Readonly<Record<string, Schema>>, name?: string): Schema {
  if (schema.$ref) return plain(schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, schemas);
  const { anyOf, title: _, ...rest } = schema;
  if (anyOf) {
    const [value = {}] = anyOf.filter(({ type }) => type !== 'null');
    const one = plain(value, schemas, name);
    return { ...one, ...rest, type: [one.type as string, 'null'] };
  }
  return {
    ...rest,
    ...(name !== undefined && addressFields.has(name) && { pattern: address }),
    ...(rest.items && { items: plain(rest.items, schemas) }),
    ...(rest.properties && {
      properties: Object.fromEntries(
        Object.entries(rest.properties).map(([key, field]) => [key, plain(field, schemas, key)]),
      ),
    }),
  };
}
