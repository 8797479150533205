import { useState } from 'react';

/**
 * The item as it was when its dialog opened, until the dialog closes: an event about the item must neither replace what is being
 * typed nor close the dialog. `dialog` identifies the open dialog, for instance by the id of its row; undefined while none is open.
 */
export function useFrozen<T>(current: T, dialog: string | undefined): T {
  const [frozen, setFrozen] = useState<{ readonly dialog: string; readonly item: T }>();
  if (frozen && frozen.dialog !== dialog) setFrozen(undefined);
  else if (!frozen && dialog !== undefined && current !== undefined) setFrozen({ dialog, item: current });
  return frozen?.dialog === dialog && frozen ? frozen.item : current;
}

/** The latest value that was not undefined: a dialog keeps its content while it closes. */
export function useLast<T>(current: T | undefined): T | undefined {
  const [last, setLast] = useState(current);
  if (current !== undefined && current !== last) setLast(current);
  return current ?? last;
}
