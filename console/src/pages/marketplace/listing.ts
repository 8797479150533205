/** The words of a listing, and the form that creates or changes one. */
import type { Agent, Listing, ListingChange, NewListing } from '../../api/generated.ts';
import type { RequiredFields } from '../../components/required-fields.ts';

export const listingStatuses = [
  'draft',
  'published',
  'suspended',
  'withdrawn',
] as const satisfies readonly Listing['status'][];

export const pricingModels = [
  { value: 'free', label: 'Free' },
  { value: 'contact', label: 'On request' },
  { value: 'external', label: 'On a page of your own' },
];

export const visibilities = [
  { value: 'organization', label: 'Agents of your organization' },
  { value: 'public', label: 'Everyone' },
];

/** What the inputs hold. */
interface ListingForm extends Record<string, unknown> {
  agentId: string;
  title: string;
  summary: string;
  description: string;
  categories: string[];
  tags: string[];
  /** One in a line: protocol and URL. */
  endpoints: string;
  documentationUrl: string;
  pricing: string;
  pricingUrl: string;
  visibility: string;
  /** The person has read what becomes public. */
  becomesPublic: boolean;
}

export const formOf = (listing: Listing | undefined): ListingForm => ({
  agentId: listing?.agentId ?? '',
  title: listing?.title ?? '',
  summary: listing?.summary ?? '',
  description: listing?.description ?? '',
  categories: [...(listing?.categories ?? [])],
  tags: [...(listing?.tags ?? [])],
  endpoints: (listing?.endpoints ?? []).map(({ protocol, url }) => `${protocol} ${url}`).join('\n'),
  documentationUrl: listing?.documentationUrl ?? '',
  pricing: listing?.pricing.model ?? 'free',
  pricingUrl: listing?.pricing.url ?? '',
  visibility: listing?.visibility ?? 'organization',
  becomesPublic: false,
});

/** Whether saving the form would show to everyone what they cannot see yet. A draft is asked about when it is published. */
export const opensToEveryone = (listing: Listing | undefined, form: ListingForm): boolean =>
  listing?.status === 'published' && listing.visibility !== 'public' && form.visibility === 'public';

/** Everything about a listing that people without an account can see, by name. */
export const publicFactsOf = (listing: Listing): [name: string, text: string][] => [
  ['Organization', `${listing.organizationName} (${listing.organizationSlug})`],
  ['Title', listing.title],
  ['Summary', listing.summary],
  ['Description', listing.description],
  ['Agent', `${listing.agentType}, version ${listing.version}`],
  ['Capabilities', listing.capabilities.join(', ')],
  ['Categories', listing.categories.join(', ')],
  ['Tags', listing.tags.join(', ')],
  ['Endpoints', listing.endpoints.map(({ protocol, url }) => `${protocol} ${url}`).join('\n')],
  ['Documentation', listing.documentationUrl ?? ''],
  ['Price', [listing.pricing.model, listing.pricing.url].filter(Boolean).join(' ')],
  ['DID and card', `${listing.did}\n${listing.cardUrl}`],
];

/** What the card and the DID document of the agent say besides, which the listing leads to. */
export const cardFactsOf = ({ owner, deploymentEnv }: Agent): [name: string, text: string][] => [
  ['In its card', `owner ${owner}\nenvironment ${deploymentEnv}`],
];

const protocols: readonly string[] = ['a2a', 'mcp', 'http'];

export const required: RequiredFields<ListingForm> = {
  agentId: 'Choose the agent',
  title: 'Give it a title',
  summary: 'Say in one line what it does',
};

/** Checks that need no server. The API checks the rest. */
export function problemsOf(form: ListingForm, listing?: Listing): Partial<Record<keyof ListingForm, string>> {
  const wrongLine = linesOf(form.endpoints).find((line) => {
    const [protocol = '', url] = line.split(/\s+/);
    return !protocols.includes(protocol) || !url;
  });
  return {
    ...(opensToEveryone(listing, form) &&
      !form.becomesPublic && { becomesPublic: 'Confirm that this becomes public' }),
    ...(wrongLine && { endpoints: 'Each line needs a protocol (a2a, mcp or http) and a URL' }),
  };
}

export function changeOf(form: ListingForm): ListingChange {
  return {
    title: form.title,
    summary: form.summary,
    description: form.description,
    categories: form.categories,
    tags: form.tags,
    endpoints: linesOf(form.endpoints).map((line) => {
      const [protocol = '', url = ''] = line.split(/\s+/);
      return { protocol, url };
    }) as NonNullable<ListingChange['endpoints']>,
    documentationUrl: form.documentationUrl || null,
    pricing: { model: form.pricing, url: form.pricingUrl || null } as NonNullable<ListingChange['pricing']>,
    visibility: form.visibility as NonNullable<ListingChange['visibility']>,
  };
}

export const newListingOf = (form: ListingForm): NewListing =>
  ({ agentId: form.agentId, ...changeOf(form) }) as NewListing;

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
