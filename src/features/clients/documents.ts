/**
 * Fetches client documents through the guarded outbound client, and caches them. Concurrent requests for one address share one
 * fetch (single flight). A failure is not cached. Each process has its own cache.
 */

import { limits } from '../../contract/limits.ts';
import { createFairQueue } from '../../kernel/concurrency/fair-queue.ts';
import { createLru } from '../../kernel/data/lru.ts';
import { Overloaded } from '../../kernel/overloaded.ts';
import { OutboundProblem, type OutboundResponse } from '../../kernel/ports/outbound.ts';
import { hostOf } from './address.ts';
import { type ClientDocument, DocumentProblem, type ParsedDocument, parseDocument } from './document.ts';
import type { ClientDeps } from './feature.ts';
import { freshFor } from './freshness.ts';

const maxCached = 2_000;
/** Anybody can make us fetch: few at once, and few from one host. */
const fetches = { concurrency: 16, perKey: 2, maxQueue: 20, maxWaitMs: limits.clientDocument.timeoutMs };

interface CachedDocument {
  readonly document: ClientDocument;
  readonly freshUntil: number;
}

export interface Documents {
  /** The document at a valid address; the problem, for people to read, when it cannot be used. */
  get(address: string): Promise<ClientDocument | { readonly problem: string }>;
}

export function createDocuments({
  outbound,
  clock,
  readPublishedKeys,
}: Pick<ClientDeps, 'outbound' | 'clock' | 'readPublishedKeys'>): Documents {
  const cache = createLru<CachedDocument>(maxCached);
  const underWay = new Map<string, Promise<ClientDocument>>();
  const queue = createFairQueue(fetches);

  const getJson = async (url: string, maxBytes: number, which = ''): Promise<OutboundResponse> => {
    const headers = { accept: 'application/json' };
    const { timeoutMs } = limits.clientDocument;
    const response = await outbound.send({ method: 'GET', url, headers, timeoutMs, maxBytes });
    if (response.status !== 200)
      throw new DocumentProblem(`${which}was answered with status ${response.status}`);
    const contentType = String(response.headers['content-type'] ?? '');
    if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType))
      throw new DocumentProblem(`${which}is not served as application/json`);
    return response;
  };

  const readKeys = async (keySource: ParsedDocument['keySource']) => {
    if (!keySource) return { keys: [], freshForMs: Infinity };
    const fetched =
      'jwksUri' in keySource
        ? await getJson(keySource.jwksUri, limits.clientKeySetBytes, 'has a jwks_uri that ')
        : undefined;
    const keys = await readPublishedKeys(
      'jwks' in keySource ? keySource.jwks : parseKeySet(fetched?.body.toString('utf8') ?? ''),
    );
    if (keys.length === 0) throw new DocumentProblem('has no key that can be used');
    return { keys, freshForMs: fetched ? freshFor(fetched.headers, clock.now()) : Infinity };
  };

  const fetchDocument = async (address: string): Promise<ClientDocument> => {
    const { headers, body } = await getJson(address, limits.clientDocument.maxBytes);
    const { keySource, ...parsed } = parseDocument(address, body);
    const { keys, freshForMs } = await readKeys(keySource);
    const document = { ...parsed, keys };
    const now = clock.now();
    cache.set(address, { document, freshUntil: now + Math.min(freshForMs, freshFor(headers, now)) });
    return document;
  };

  const fetchOnce = (address: string): Promise<ClientDocument> => {
    const started = underWay.get(address);
    if (started) return started;
    const fetching = queue(hostOf(address), () => fetchDocument(address)).finally(() =>
      underWay.delete(address),
    );
    underWay.set(address, fetching);
    return fetching;
  };

  return {
    async get(address) {
      const cached = cache.get(address);
      if (cached && clock.now() < cached.freshUntil) return cached.document;
      try {
        return await fetchOnce(address);
      } catch (error) {
        return { problem: problemOf(error) };
      }
    },
  };
}

function parseKeySet(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new DocumentProblem('has a jwks_uri that is not JSON');
  }
}

function problemOf(error: unknown): string {
  if (error instanceof DocumentProblem) return `The client's document ${error.message}.`;
  if (error instanceof OutboundProblem)
    return `The client's document could not be fetched: ${reasonOf(error)}.`;
  if (error instanceof Overloaded) return 'Too many client documents are being fetched; try again.';
  throw error;
}

/** Anybody may read it. Where private addresses are allowed, the error of a connection would show which ports are open, and what is there. */
const reasonOf = ({ reason, message }: OutboundProblem): string =>
  reason === 'unreachable' || reason === 'protocol' ? 'its host gave no answer by HTTPS' : message;
