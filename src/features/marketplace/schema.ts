import type { Static } from 'typebox';
import { agentTypes } from '../../contract/identity.ts';
import Type from '../../contract/json-schema.ts';
import { pageSizes } from '../../contract/limits.ts';
import { httpsUrl } from '../../contract/patterns.ts';
import { literals, Nullable, nameText, PageOf, pageQuery, Timestamp, Uuid } from '../../contract/shapes.ts';

export const listingStatuses = ['draft', 'published', 'suspended', 'withdrawn'] as const;
export type ListingStatus = (typeof listingStatuses)[number];
export const visibilities = ['public', 'organization'] as const;

/** In bytes: bounds storage in every script. */
export const maxDescriptionBytes = 8_192;
/** A search finds and counts at most this many. */
export const searchDepth = 200;

const line = (maxLength: number) =>
  Type.String({
    ...nameText(maxLength),
    description: `one line of text, ${nameText(maxLength).description}`,
  });
const HttpsUrl = Type.String({
  maxLength: 2_048,
  documentedPattern: httpsUrl,
  description: 'an absolute https:// URL in ASCII, without credentials or fragment',
});
const word = (maxLength: number) =>
  Type.String({
    maxLength,
    pattern: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$',
    description: `lower-case letters, digits and hyphens, at most ${maxLength}`,
  });

const Endpoint = Type.Object(
  { protocol: literals(['a2a', 'mcp', 'http']), url: HttpsUrl },
  { additionalProperties: false },
);
const Pricing = Type.Object(
  { model: literals(['free', 'contact', 'external']), url: Type.Optional(Nullable(HttpsUrl)) },
  { additionalProperties: false },
);

const editableFields = {
  title: line(120),
  summary: line(280),
  description: Type.String({ maxLength: maxDescriptionBytes, description: 'Markdown' }),
  categories: Type.Array(word(40), { maxItems: 5, uniqueItems: true }),
  tags: Type.Array(word(40), { maxItems: 20, uniqueItems: true }),
  endpoints: Type.Array(Endpoint, { maxItems: 10, uniqueItems: true }),
  documentationUrl: Nullable(HttpsUrl),
  pricing: Pricing,
  visibility: literals(visibilities),
};

export const NewListing = Type.Object(
  {
    agentId: Uuid,
    title: editableFields.title,
    summary: editableFields.summary,
    description: Type.Optional(editableFields.description),
    categories: Type.Optional(editableFields.categories),
    tags: Type.Optional(editableFields.tags),
    endpoints: Type.Optional(editableFields.endpoints),
    documentationUrl: Type.Optional(editableFields.documentationUrl),
    pricing: Type.Optional(editableFields.pricing),
    visibility: Type.Optional(editableFields.visibility),
  },
  { title: 'NewListing', additionalProperties: false },
);
export type NewListing = Static<typeof NewListing>;

export const ListingChange = Type.Object(
  {
    ...Type.Partial(Type.Object(editableFields)).properties,
    status: Type.Optional(literals(listingStatuses)),
  },
  { title: 'ListingChange', additionalProperties: false },
);
export type ListingChange = Static<typeof ListingChange>;

export const immutableFields = ['listingId', 'agentId', 'organizationId', 'createdAt'] as const;

const verifiedMeans =
  "the agent is active, its DID document is well formed and its badge verifies with the instance's key; owner, capabilities, endpoints and the organization's name are not checked";

export const Listing = Type.Object(
  {
    listingId: Uuid,
    agentId: Uuid,
    organizationId: Uuid,
    organizationName: Type.String({ description: 'of the organization that publishes it; not unique' }),
    organizationSlug: Type.String({ description: 'of the same organization; no other one has it' }),
    title: Type.String(),
    summary: Type.String(),
    description: Type.String({ description: 'Markdown' }),
    categories: Type.Array(Type.String()),
    tags: Type.Array(Type.String()),
    capabilities: Type.Array(Type.String()),
    agentType: Type.String(),
    version: Type.String(),
    endpoints: Type.Array(Type.Object({ protocol: Type.String(), url: Type.String() })),
    documentationUrl: Nullable(Type.String()),
    pricing: Type.Object({ model: Type.String(), url: Nullable(Type.String()) }),
    visibility: literals(visibilities),
    verified: Type.Boolean({ description: verifiedMeans }),
    did: Type.String(),
    cardUrl: Type.String(),
    status: literals(listingStatuses),
    publishedAt: Nullable(Timestamp),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'Listing' },
);
export type Listing = Static<typeof Listing>;

export const ListingPage = PageOf(Listing, 'ListingPage');

export const ListingParams = Type.Object({ listingId: Uuid });

export const ListingQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  agentId: Type.Optional(Uuid),
  status: Type.Optional(literals(listingStatuses)),
});
export type ListingQuery = Static<typeof ListingQuery>;

export const SearchQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  q: Type.Optional(
    Type.String({
      maxLength: 200,
      description: `words, "phrases", -exclusions, or; with this, capability, category or verified at most ${searchDepth} are found, and total counts no further`,
    }),
  ),
  capability: Type.Optional(Type.String({ maxLength: 128 })),
  agentType: Type.Optional(literals(agentTypes)),
  category: Type.Optional(Type.String({ maxLength: 40 })),
  verified: Type.Optional(
    Type.Unsafe<'true' | 'false'>({ type: 'string', enum: ['true', 'false'], description: verifiedMeans }),
  ),
});
export type SearchQuery = Static<typeof SearchQuery>;
