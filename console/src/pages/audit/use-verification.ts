/** Runs the verification in a worker, and asks the server for its own opinion besides. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { ApiError } from '../../api/api-error.ts';
import { call } from '../../api/request.ts';
import { useSessionState } from '../../app/session-context.tsx';
import type { RememberedCheckpoint } from './proof/evidence.ts';
import type { Progress, Verdict } from './proof/verify.ts';
import type { LogRequest } from './proof/worker.ts';
import { readRemembered, remember } from './remembered.ts';
import { runWorker } from './run-worker.ts';
import { shownEvents } from './shown-events.ts';

/** What the server says: `undefined` while it has not answered, or when it could not. */
type ServerOpinion = boolean | undefined;

export type VerificationState =
  | { readonly step: 'idle' }
  | {
      readonly step: 'running';
      readonly progress: Progress | undefined;
      /** Until the rate limit lets it go on. */
      readonly waitsSeconds: number | undefined;
    }
  | {
      readonly step: 'done';
      readonly verdict: Verdict;
      readonly server: ServerOpinion;
      readonly remembered: RememberedCheckpoint | undefined;
      readonly demonstrated: boolean;
      readonly at: string;
    }
  | { readonly step: 'failed'; readonly error: ApiError };

/** A server that is busy, or whose rate limit is reached, does not delay the result for longer. */
const opinionMilliseconds = 20_000;

export function useVerification(organizationId: string) {
  const [state, setState] = useState<VerificationState>({ step: 'idle' });
  const stopWorker = useRef<() => void>(undefined);
  const { refresh } = useSessionState();

  const stop = useCallback(() => {
    stopWorker.current?.();
    stopWorker.current = undefined;
  }, []);
  useEffect(() => stop, [stop]);

  const start = useCallback(
    (demonstrate: boolean) => {
      stop();
      const remembered = readRemembered(organizationId);
      setState({ step: 'running', progress: undefined, waitsSeconds: undefined });
      const request: LogRequest = {
        kind: 'log',
        organizationId,
        shown: shownEvents(),
        remembered,
        demonstrate,
      };
      const stopThis = runWorker(request, {
        onProgress: (progress) => setState({ step: 'running', progress, waitsSeconds: undefined }),
        onWait: (waitsSeconds) =>
          setState((before) => ({
            step: 'running',
            progress: before.step === 'running' ? before.progress : undefined,
            waitsSeconds,
          })),
        onFailure(error) {
          setState({ step: 'failed', error });
          if (error.status === 401) void refresh().catch(() => undefined);
        },
        async onVerdict(verdict) {
          const server = await serverOpinion(organizationId);
          // Cancelled, or started again, during the wait.
          if (stopWorker.current !== stopThis) return;
          if (verdict.status === 'intact' && verdict.newest && !demonstrate)
            remember(organizationId, verdict.newest);
          const at = new Date().toISOString();
          setState({ step: 'done', verdict, server, remembered, demonstrated: demonstrate, at });
        },
      });
      stopWorker.current = stopThis;
    },
    [organizationId, refresh, stop],
  );

  const cancel = useCallback(() => {
    stop();
    setState({ step: 'idle' });
  }, [stop]);

  return { state, start, cancel };
}

/** For comparison only: the browser does not rely on it. */
async function serverOpinion(organizationId: string): Promise<ServerOpinion> {
  try {
    const signal = AbortSignal.timeout(opinionMilliseconds);
    return (await call('verifyAudit', { query: { organizationId } }, { signal })).verified;
  } catch {
    return undefined;
  }
}
