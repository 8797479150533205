import type { Planning } from '../change.ts';
import { isNew, type Reference } from '../references.ts';

/** The state of an organization that the caller can read; `none` for one that this run creates. Undefined after a problem. */
export function ofOrganization<T>(
  { problems }: Planning,
  states: ReadonlyMap<string, T>,
  owner: Reference,
  none: T,
  at: string,
): T | undefined {
  if (isNew(owner)) return none;
  const state = states.get(owner.key);
  if (state === undefined)
    problems.add(
      at,
      `this client may not manage the people of ${owner.label}; it needs the role admin there, or scope admin:orgs`,
    );
  return state;
}
