/** Updates and deletions of what exists. They are refused if another client has changed it since it was read. */
import { type Change, labelOf, type Running } from '../change.ts';
import { type FieldChange, newValues, requireSame, requireUnchanged } from '../compare.ts';

export interface Existing extends Pick<Change, 'kind' | 'name' | 'organization' | 'remark' | 'irreversible'> {
  readonly path: string;
}

interface UpdateOptions {
  /** The changes as they are printed. */
  readonly fields?: readonly FieldChange[];
  readonly body?: object;
  readonly beforeSend?: (running: Running) => void;
}

/** None when no field changes. */
export function updateOf(
  { path, ...existing }: Existing,
  changes: readonly FieldChange[],
  { fields = changes, body = newValues(changes), beforeSend }: UpdateOptions = {},
): Change[] {
  if (changes.length === 0) return [];
  return [
    {
      action: 'update',
      ...existing,
      fields,
      async apply(running) {
        requireUnchanged(labelOf(existing), changes, await running.api.find(path));
        beforeSend?.(running);
        await running.api.send('PATCH', path, body);
      },
    },
  ];
}

/** `fields` are those that must be as they were in `live`. */
export function deletionOf<Live extends object>(
  { path, ...existing }: Existing,
  fields: readonly string[],
  live: Live,
  isEnded: (current: Live) => boolean = () => false,
): Change {
  return {
    action: 'delete',
    ...existing,
    fields: [],
    async apply({ api }) {
      const current = await api.find<Live>(path);
      if (!current || isEnded(current)) return;
      requireSame(labelOf(existing), fields, live, current);
      await api.send('DELETE', path);
    },
  };
}
