/** Loads a module of the console with its files. Where they do not arrive, because the server is unavailable or too busy, it tries again. */
import { sleep } from '../../../sdk/typescript/src/platform.ts';
import { ApiError } from './api-error.ts';
import { reportRequestEvent } from './request.ts';
import { isTransient, isUnavailable, retryAfterSecondsOf, retryDelay } from './retry.ts';

/** A file that arrives, but not as a module of the console, is not a matter of time. */
const maxBroken = 2;

export async function loadModule<Module>(load: () => Promise<Module>): Promise<Module> {
  let broken = 0;
  for (let failures = 0; ; failures += 1) {
    try {
      return await load();
    } catch (error) {
      const reason = await reasonOf(error);
      if (reason === undefined) broken += 1;
      else if (!isTransient(reason)) throw error;
      if (broken > maxBroken) throw error;
      const delay = retryDelay(failures, reason, Math.random());
      if (isUnavailable(reason)) {
        reportRequestEvent({ type: 'offline' });
        reportRequestEvent({ type: 'retrying', milliseconds: delay });
      } else if (reason) reportRequestEvent({ type: 'waiting', seconds: Math.ceil(delay / 1_000) });
      await sleep(delay);
      reloadStyles();
    }
  }
}

/** Vite asks for a style sheet once. One that did not arrive has no rules. */
function reloadStyles(): void {
  for (const link of document.querySelectorAll<HTMLLinkElement>('link[rel=stylesheet]'))
    if (link.sheet === null) link.replaceWith(link.cloneNode());
}

/** Why a file did not arrive; undefined when it arrives now. Browsers name the file in the message, but not the status. */
async function reasonOf(error: unknown): Promise<ApiError | undefined> {
  const address = /(?:https?:\/\/\S+|\/console\/\S+)$/.exec(error instanceof Error ? error.message : '')?.[0];
  const url = new URL(address ?? '/console/', location.href);
  const noAnswer = new ApiError({ status: 0, code: 'NO_CONNECTION', message: 'no answer' });
  if (url.origin !== location.origin) return undefined;
  try {
    const { ok, status, headers } = await fetch(url, { cache: 'no-store' });
    if (ok) return undefined;
    return new ApiError({
      status,
      code: `HTTP_${status}`,
      message: 'no file',
      retryAfterSeconds: retryAfterSecondsOf(headers),
    });
  } catch {
    return noAnswer;
  }
}
