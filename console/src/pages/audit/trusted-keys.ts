/** The verifier keys that the reader trusts, as text. This browser keeps them. */
import { useSyncExternalStore } from 'react';

const storageKey = 'countersign.audit.keys';
const listeners = new Set<() => void>();
let current: string | undefined;

function read(): string {
  try {
    current ??= localStorage.getItem(storageKey) ?? '';
  } catch {
    // A browser without storage keeps them until the page is closed.
  }
  return current ?? '';
}

const onChange = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useTrustedKeys = (): string => useSyncExternalStore(onChange, read);

export function saveTrustedKeys(text: string): void {
  current = text;
  try {
    localStorage.setItem(storageKey, text);
  } catch {
    // See above.
  }
  for (const listener of listeners) listener();
}
