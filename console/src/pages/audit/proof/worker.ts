/** The worker that verifies a log: it fetches the evidence page by page, and computes beside the page. */
import { ApiError } from '../../../api/api-error.ts';
import { call, onRequestEvent, sendJson } from '../../../api/request.ts';
import { createAlteration } from './demonstration.ts';
import type { Evidence, KeyStatementEntry, PublicKey, RememberedCheckpoint, ShownEvent } from './evidence.ts';
import { type Progress, type Verdict, verifyLog } from './verify.ts';

export interface VerificationRequest {
  readonly organizationId: string;
  readonly shown: readonly ShownEvent[];
  readonly remembered: RememberedCheckpoint | undefined;
  /** Changes one event of the fetched copy. */
  readonly demonstrate: boolean;
}

export type WorkerMessage =
  | ({ readonly type: 'progress' } & Progress)
  /** The rate limit: it goes on by itself. */
  | { readonly type: 'waiting'; readonly seconds: number }
  | { readonly type: 'verdict'; readonly verdict: Verdict }
  | { readonly type: 'failed'; readonly error: FailedRequest };

export interface FailedRequest {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly requestId: string | undefined;
}

interface WorkerScope {
  postMessage(message: WorkerMessage): void;
  onmessage: ((event: MessageEvent<VerificationRequest>) => void) | null;
}
const scope = globalThis as unknown as WorkerScope;

const waitSeconds = 15;
const maxWaits = 40;
const keysPerPage = 200;

/** A 429 that `call` did not wait for, or that came again. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let waits = 0; ; waits += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 429 || waits >= maxWaits) throw error;
      scope.postMessage({ type: 'waiting', seconds: waitSeconds });
      await new Promise((resolve) => setTimeout(resolve, waitSeconds * 1000));
    }
  }
}

const isoOf = (time: number | undefined) => (time === undefined ? undefined : new Date(time).toISOString());

const evidenceOf = (organizationId: string): Evidence => ({
  chain: (after, limit) =>
    patiently(() =>
      call('getAuditChain', {
        query: { organizationId, limit, ...(after !== undefined && { after }) },
      }),
    ),
  async keys() {
    const entries: KeyStatementEntry[] = [];
    for (let page = 1; ; page += 1) {
      const { data, total } = await patiently(() =>
        call('listAuditKeys', { query: { page, limit: keysPerPage } }),
      );
      entries.push(...data);
      if (entries.length >= total || data.length === 0) return entries;
    }
  },
  async publishedKeys() {
    const answer = await patiently(() => sendJson('GET', '/.well-known/jwks.json'));
    return (answer as { keys: PublicKey[] }).keys;
  },
  async listed({ from, to }, limit) {
    const [fromDate, toDate] = [isoOf(from), isoOf(to)];
    const { total, data } = await patiently(() =>
      call('listAuditEvents', {
        query: {
          page: 1,
          limit,
          organizationId,
          ...(fromDate !== undefined && { fromDate }),
          ...(toDate !== undefined && { toDate }),
        },
      }),
    );
    return { total, events: data };
  },
});

onRequestEvent((event) => {
  if (event.type === 'waiting') scope.postMessage({ type: 'waiting', seconds: event.seconds });
});

scope.onmessage = async ({ data: { organizationId, shown, remembered, demonstrate } }) => {
  try {
    const verdict = await verifyLog({
      evidence: evidenceOf(organizationId),
      shown,
      remembered,
      ...(demonstrate && { alter: createAlteration() }),
      now: Date.now,
      onProgress: (progress) => scope.postMessage({ type: 'progress', ...progress }),
    });
    scope.postMessage({ type: 'verdict', verdict });
  } catch (error) {
    const { status = 0, code = 'CONSOLE_ERROR', message, requestId } = error as ApiError;
    scope.postMessage({ type: 'failed', error: { status, code, message, requestId } });
  }
};
