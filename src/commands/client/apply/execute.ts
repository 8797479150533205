/** Applies a plan stage by stage. After a failure it starts nothing more, and tells which changes are done. */

import type { Io } from '../../io.ts';
import { type ApplyApi, createProgress, inParallel } from './api.ts';
import type { Change, CreatedSecret } from './change.ts';
import type { Ids } from './references.ts';

export interface Outcome {
  readonly done: ReadonlySet<Change>;
  readonly failure?: { readonly change: Change; readonly error: unknown };
}

export async function execute(
  io: Io,
  stages: readonly (readonly Change[])[],
  api: ApplyApi,
  ids: Ids,
  keepSecret: (secret: CreatedSecret) => void,
): Promise<Outcome> {
  const running = { api, ids, keepSecret, endedScopes: new Map<string, Set<string>>() };
  const done = new Set<Change>();
  const progress = createProgress(io, 'changes applied', stages.flat().length);
  let failure: Outcome['failure'];
  const apply = async (change: Change) => {
    try {
      await change.apply(running);
      done.add(change);
      progress();
    } catch (error) {
      failure ??= { change, error };
      throw error;
    }
  };
  try {
    for (const changes of stages) await inParallel(changes, apply);
  } catch (error) {
    if (!failure) throw error;
  }
  return { done, ...(failure && { failure }) };
}
