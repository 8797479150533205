/** Verifies one file at a time in a worker: an export, or a day of the archive. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { ApiError } from '../../api/api-error.ts';
import { useSessionState } from '../../app/session-context.tsx';
import type { FileProgress, FileVerdict } from './proof/verify-file.ts';
import type { FileRequest } from './proof/worker.ts';
import { runWorker } from './run-worker.ts';

/** `name`: of the file, so that a page can show the state beside it. */
export type FileState =
  | { readonly step: 'idle'; readonly name?: undefined }
  | {
      readonly step: 'running';
      readonly name: string;
      readonly progress: FileProgress | undefined;
      /** Until the rate limit lets it go on. */
      readonly waitsSeconds: number | undefined;
    }
  | { readonly step: 'done'; readonly name: string; readonly verdict: FileVerdict }
  | { readonly step: 'failed'; readonly name: string; readonly error: ApiError };

export function useFileVerification() {
  const [state, setState] = useState<FileState>({ step: 'idle' });
  const stop = useRef<() => void>(undefined);
  const { refresh } = useSessionState();
  useEffect(() => () => stop.current?.(), []);

  const start = useCallback(
    (name: string, request: FileRequest) => {
      stop.current?.();
      const running = { step: 'running', name, progress: undefined, waitsSeconds: undefined } as const;
      setState(running);
      stop.current = runWorker(request, {
        onProgress: (progress) => setState({ ...running, progress }),
        onWait: (waitsSeconds) =>
          setState((before) => (before.step === 'running' ? { ...before, waitsSeconds } : before)),
        onVerdict: (verdict) => setState({ step: 'done', name, verdict }),
        onFailure(error) {
          setState({ step: 'failed', name, error });
          if (error.status === 401) void refresh().catch(() => undefined);
        },
      });
    },
    [refresh],
  );

  const clear = useCallback(() => {
    stop.current?.();
    setState({ step: 'idle' });
  }, []);

  return { state, start, clear };
}

export type FileVerifier = ReturnType<typeof useFileVerification>;
