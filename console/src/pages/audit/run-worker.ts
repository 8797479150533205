/** Runs one verification in a worker of its own. */
import { ApiError } from '../../api/api-error.ts';
import type { ProgressOf, VerdictOf, WorkerMessage, WorkerRequest } from './proof/worker.ts';

interface WorkerListeners<Request extends WorkerRequest> {
  onProgress(progress: ProgressOf<Request>): void;
  /** The rate limit: it goes on by itself after these seconds. */
  onWait(seconds: number): void;
  onVerdict(verdict: VerdictOf<Request>): void;
  onFailure(error: ApiError): void;
}

/** Returns a function that ends it. A worker that has reported a verdict or a failure has ended. */
export function runWorker<Request extends WorkerRequest>(
  request: Request,
  { onProgress, onWait, onVerdict, onFailure }: WorkerListeners<Request>,
): () => void {
  const worker = new Worker(new URL('./proof/worker.ts', import.meta.url), { type: 'module' });
  const stop = () => worker.terminate();
  worker.onerror = (event) => {
    event.preventDefault();
    stop();
    const message = 'The verification could not be started.';
    onFailure(new ApiError({ status: 0, code: 'CONSOLE_ERROR', message }));
  };
  worker.onmessage = ({ data: message }: MessageEvent<WorkerMessage<Request>>) => {
    if (message.type === 'progress') return onProgress(message.progress);
    if (message.type === 'waiting') return onWait(message.seconds);
    stop();
    if (message.type === 'failed') onFailure(new ApiError(message.error));
    else onVerdict(message.verdict);
  };
  worker.postMessage(request);
  return stop;
}
