/** The worker that verifies a log or a file: it fetches the evidence part by part, and computes beside the page. */
import { ApiError } from '../../../api/api-error.ts';
import { call, callRaw, onRequestEvent, sendJson } from '../../../api/request.ts';
import { createAlteration } from './demonstration.ts';
import type { Evidence, KeyStatementEntry, PublicKey, RememberedCheckpoint, ShownEvent } from './evidence.ts';
import { type Progress, type Verdict, verifyLog } from './verify.ts';
import { type FileProgress, type FileVerdict, type ListedDay, verifyFile } from './verify-file.ts';

export interface LogRequest {
  readonly kind: 'log';
  readonly organizationId: string;
  readonly shown: readonly ShownEvent[];
  readonly remembered: RememberedCheckpoint | undefined;
  /** Changes one event of the fetched copy. */
  readonly demonstrate: boolean;
}

/** A day of the archive, which the worker downloads, or an export. */
export type FileRequest =
  | { readonly kind: 'day'; readonly day: ListedDay }
  | { readonly kind: 'export'; readonly file: Blob };

export type WorkerRequest = LogRequest | FileRequest;

/** By the request: what its worker reports, and its result. */
export type ProgressOf<Request extends WorkerRequest> = Request extends LogRequest ? Progress : FileProgress;
export type VerdictOf<Request extends WorkerRequest> = Request extends LogRequest ? Verdict : FileVerdict;

export type WorkerMessage<Request extends WorkerRequest = WorkerRequest> =
  | { readonly type: 'progress'; readonly progress: ProgressOf<Request> }
  /** The rate limit: it goes on by itself. */
  | { readonly type: 'waiting'; readonly seconds: number }
  | { readonly type: 'verdict'; readonly verdict: VerdictOf<Request> }
  | { readonly type: 'failed'; readonly error: FailedRequest };

export interface FailedRequest {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly requestId: string | undefined;
}

interface WorkerScope {
  postMessage(message: WorkerMessage): void;
  onmessage: ((event: MessageEvent<WorkerRequest>) => void) | null;
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

const keyEvidence: Pick<Evidence, 'keys' | 'publishedKeys'> = {
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
};

const evidenceOf = (organizationId: string): Evidence => ({
  ...keyEvidence,
  chain: (after, limit) =>
    patiently(() =>
      call('getAuditChain', {
        query: { organizationId, limit, ...(after !== undefined && { after }) },
      }),
    ),
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

const report = (progress: ProgressOf<WorkerRequest>) => scope.postMessage({ type: 'progress', progress });

const verifyTheLog = ({ organizationId, shown, remembered, demonstrate }: LogRequest) =>
  verifyLog({
    evidence: evidenceOf(organizationId),
    shown,
    remembered,
    ...(demonstrate && { alter: createAlteration() }),
    now: Date.now,
    onProgress: report,
  });

async function verifyTheFile(request: FileRequest): Promise<FileVerdict> {
  const listed = request.kind === 'day' ? request.day : undefined;
  const file = request.kind === 'day' ? await download(request.day) : request.file.stream();
  return verifyFile({ chunks: chunksOf(file), listed, evidence: keyEvidence, onProgress: report });
}

async function download({ organizationId, date }: ListedDay): Promise<ReadableStream<Uint8Array>> {
  const input = { params: { date }, query: { organizationId } };
  const { body } = await patiently(() => callRaw('getAuditArchive', input));
  return body ?? new Blob().stream();
}

/** Not every browser can iterate over a stream. */
async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(fail);
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

const fail = (): never => {
  throw new ApiError({
    status: 0,
    code: 'NO_CONNECTION',
    message:
      'The download broke off before its end. The server ends it when the stored file is not the one that was archived; a lost connection looks the same. Try again; if it breaks off again, ask the operator.',
  });
};

scope.onmessage = async ({ data: request }) => {
  try {
    const verdict = await (request.kind === 'log' ? verifyTheLog(request) : verifyTheFile(request));
    scope.postMessage({ type: 'verdict', verdict });
  } catch (error) {
    const { status = 0, code = 'CONSOLE_ERROR', message, requestId } = error as ApiError;
    scope.postMessage({ type: 'failed', error: { status, code, message, requestId } });
  }
};
