import { isDeepStrictEqual } from 'node:util';
import { type Caller, isOperator, tenantOf } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { type FieldProblem, validationError } from '../../kernel/http/input/validation.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import { urlProblem } from '../../kernel/url-problem.ts';
import type { Agent } from '../agents/schema.ts';
import type { MarketplaceDeps } from './feature.ts';
import {
  type Listing,
  type ListingChange,
  type ListingQuery,
  type ListingStatus,
  maxDescriptionBytes,
  type NewListing,
  type SearchQuery,
} from './schema.ts';
import { searchListings } from './search-store.ts';
import {
  deleteListing,
  findListing,
  findPublished,
  insertListing,
  listListings,
  lockListing,
  type NewRow,
  type StoredListing,
  updateListing,
} from './store.ts';
import { type Transition, transitions } from './transitions.ts';

export interface MarketplaceService {
  search(caller: Caller | undefined, query: SearchQuery): Promise<Page<Listing>>;
  show(caller: Caller | undefined, listingId: string): Promise<Listing>;
  create(caller: Caller, wanted: NewListing): Promise<Listing>;
  list(caller: Caller, query: ListingQuery): Promise<Page<Listing>>;
  get(caller: Caller, listingId: string): Promise<Listing>;
  update(caller: Caller, listingId: string, change: ListingChange): Promise<Listing>;
  remove(caller: Caller, listingId: string): Promise<void>;
}

export function createMarketplaceService(deps: MarketplaceDeps): MarketplaceService {
  const { db, clock, ids, ledger, lockAgent, refuseImpersonation, factsOf, isVerified, didOf, cardUrlOf } =
    deps;

  const toListing = ({ pricing, ...stored }: StoredListing): Listing => ({
    ...stored,
    pricing: { model: pricing.model, url: pricing.url ?? null },
    did: didOf(stored.agentId),
    cardUrl: cardUrlOf(stored.agentId),
  });

  /** Lock order: the agent first, as in changes of agents. Only operators get the lock on an operator's agent. */
  const lockAgentAndListing = async (
    tx: Tx,
    caller: Caller,
    listingId: string,
  ): Promise<{ agent: Agent; listing: StoredListing }> => {
    const { agentId } = (await findListing(tx, tenantOf(caller), listingId)) ?? fail('LISTING_NOT_FOUND');
    const agent = await lockAgent(tx, caller, agentId);
    const listing = (await lockListing(tx, tenantOf(caller), listingId)) ?? fail('LISTING_NOT_FOUND');
    return { agent, listing };
  };

  return {
    async search(caller, query) {
      const { rows, total } = await searchListings(db, caller?.organizationId, query);
      return pageOf(query, rows.map(toListing), total);
    },

    async show(caller, listingId) {
      return toListing(
        (await findPublished(db, caller?.organizationId, listingId)) ?? fail('LISTING_NOT_FOUND'),
      );
    },

    async create(caller, wanted) {
      validateListing(wanted);
      return db.transaction(async (tx) => {
        const agent = await lockAgent(tx, caller, wanted.agentId);
        await refuseImpersonation(tx, caller, agent);
        const { agentId } = agent;
        if (agent.status !== 'active') fail('AGENT_NOT_ACTIVE');
        const [facts = fail('AGENT_NOT_FOUND')] = await factsOf([agentId], tx);
        const { organizationId, agentType, version, capabilities } = facts;
        const now = isoTime(clock);
        const listing: NewRow = {
          ...withDefaults(wanted),
          listingId: ids.uuid(),
          agentId,
          organizationId,
          agentType,
          version,
          capabilities: [...capabilities],
          verified: await isVerified(facts),
          status: 'draft',
          publishedAt: null,
          createdAt: now,
          updatedAt: now,
        };
        if (!(await insertListing(tx, listing))) fail('LISTING_ALREADY_EXISTS');
        const { listingId, visibility } = listing;
        await ledger.record(tx, caller, 'listing.created', {
          organizationId,
          agentId,
          metadata: { listingId, visibility },
        });
        return toListing((await findListing(tx, organizationId, listingId)) ?? fail('LISTING_NOT_FOUND'));
      });
    },

    async list(caller, query) {
      const { rows, total } = await listListings(db, tenantOf(caller), query);
      return pageOf(query, rows.map(toListing), total);
    },

    async get(caller, listingId) {
      return toListing((await findListing(db, tenantOf(caller), listingId)) ?? fail('LISTING_NOT_FOUND'));
    },

    async update(caller, listingId, change) {
      validateListing(change);
      return db.transaction(async (tx) => {
        const { agent, listing: before } = await lockAgentAndListing(tx, caller, listingId);
        const { pricing, ...rest } = change;
        const after: StoredListing = { ...before, ...rest, ...(pricing && { pricing: toPricing(pricing) }) };
        const changed = Object.keys(change).filter(
          (field) =>
            !isDeepStrictEqual(before[field as keyof StoredListing], after[field as keyof StoredListing]),
        );
        if (changed.length === 0) return toListing(before);
        const isWithdrawal = after.status === 'withdrawn' && changed.every((field) => field === 'status');
        // A withdrawal says nothing in the agent's name.
        if (!isWithdrawal) await refuseImpersonation(tx, caller, agent);
        const transition = transitionOf(caller, before.status, after.status);
        const now = isoTime(clock);
        const publishedAt = transition?.event === 'listing.published' ? now : before.publishedAt;
        // A draft that is suspended and then reinstated as published was never published before.
        const effectivePublishedAt = after.status === 'published' ? (publishedAt ?? now) : publishedAt;
        const stored = { ...after, publishedAt: effectivePublishedAt, updatedAt: now };
        await updateListing(tx, stored);
        await ledger.record(tx, caller, transition?.event ?? 'listing.updated', {
          organizationId: before.organizationId,
          agentId: before.agentId,
          metadata: { listingId: before.listingId, status: after.status, changed },
        });
        return toListing(stored);
      });
    },

    async remove(caller, listingId) {
      await db.transaction(async (tx) => {
        const { listing } = await lockAgentAndListing(tx, caller, listingId);
        // Otherwise a suspension would be undone by deleting and listing again.
        if (listing.status === 'suspended' && !isOperator(caller))
          fail('FORBIDDEN', {
            message: 'This listing is suspended; only an operator (scope admin:orgs) can delete it.',
          });
        await deleteListing(tx, listing.listingId);
        await ledger.record(tx, caller, 'listing.deleted', {
          organizationId: listing.organizationId,
          agentId: listing.agentId,
          metadata: { listingId: listing.listingId, status: listing.status },
        });
      });
    },
  };
}

const toPricing = ({ model, url }: NonNullable<NewListing['pricing']>) => ({ model, url: url ?? null });

const withDefaults = (wanted: NewListing) => ({
  title: wanted.title,
  summary: wanted.summary,
  description: wanted.description ?? '',
  categories: wanted.categories ?? [],
  tags: wanted.tags ?? [],
  endpoints: wanted.endpoints ?? [],
  documentationUrl: wanted.documentationUrl ?? null,
  pricing: toPricing(wanted.pricing ?? { model: 'free' }),
  visibility: wanted.visibility ?? ('public' as const),
});

/** Undefined when the status stays the same; refused when the transition does not exist or the caller may not make it. */
function transitionOf(caller: Caller, from: ListingStatus, to: ListingStatus): Transition | undefined {
  if (from === to) return undefined;
  const transition = transitions[from][to];
  if (from === 'suspended' || to === 'suspended') {
    if (!isOperator(caller))
      fail('FORBIDDEN', {
        message: 'Only an operator (scope admin:orgs) can suspend a listing, or end its suspension.',
      });
  }
  if (!transition) {
    const possible = Object.keys(transitions[from]).join(', ');
    throw validationError('body', [
      { in: 'body', field: 'status', message: `cannot become ${to} from ${from}; possible: ${possible}` },
    ]);
  }
  return transition;
}

/** Rules beyond the schema. */
function validateListing({ description, endpoints, documentationUrl, pricing }: ListingChange): void {
  const problems: FieldProblem[] = [];
  const addProblem = (field: string, message: string) => problems.push({ in: 'body', field, message });
  if (description !== undefined && Buffer.byteLength(description) > maxDescriptionBytes)
    addProblem('description', `must be at most ${maxDescriptionBytes} bytes of UTF-8`);
  const checkUrl = (field: string, url: string | null | undefined) => {
    const problem = typeof url === 'string' && urlProblem(url, { allowHttp: false, allowQuery: true });
    if (problem) addProblem(field, problem);
  };
  for (const [index, { url }] of (endpoints ?? []).entries()) checkUrl(`endpoints[${index}].url`, url);
  checkUrl('documentationUrl', documentationUrl);
  checkUrl('pricing.url', pricing?.url);
  if (pricing?.model === 'external' && !pricing.url)
    addProblem('pricing.url', 'is required when the model is external');
  if (problems.length > 0) throw validationError('body', problems);
}
