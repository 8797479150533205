interface Timing {
  pause(milliseconds: number): Promise<void>;
  /** Milliseconds of a monotonic clock. */
  elapsed(): number;
}

/**
 * A throttle: resolves at once when `intervalMs` have passed since it last resolved, otherwise when they have. For one caller at
 * a time.
 */
export function createThrottle({ pause, elapsed }: Timing, intervalMs: number): () => Promise<void> {
  let last = Number.NEGATIVE_INFINITY;
  return async () => {
    const waitMs = last + intervalMs - elapsed();
    if (waitMs > 0) await pause(waitMs);
    last = elapsed();
  };
}
