/**
 * Pauses requests that no person asked for (intervals, events) while the tab is hidden, or after ten minutes without input. A
 * forgotten tab must not keep a session alive.
 */
import { focusManager } from '@tanstack/react-query';

const inactiveMilliseconds = 10 * 60_000;
const inputs = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const;

/** react-query asks the focus manager before it repeats a request, and loads stale data when the focus returns. */
export function pauseWhenInactive(): void {
  focusManager.setEventListener((setFocused) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const note = () => {
      clearTimeout(timer);
      setFocused(!document.hidden);
      timer = setTimeout(() => setFocused(false), inactiveMilliseconds);
    };
    for (const type of inputs) addEventListener(type, note, { passive: true });
    document.addEventListener('visibilitychange', note);
    note();
    return () => {
      clearTimeout(timer);
      for (const type of inputs) removeEventListener(type, note);
      document.removeEventListener('visibilitychange', note);
    };
  });
}

export const isActive = (): boolean => focusManager.isFocused();

/** Returns a function that ends it. */
export const onActivity = (listener: () => void): (() => void) => focusManager.subscribe(listener);
