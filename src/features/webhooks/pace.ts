/** Often, but not too often: what is called for many times in a row is done at once, and then again after a moment. */

interface Time {
  pause(milliseconds: number): Promise<void>;
  /** Milliseconds of a clock that nobody sets. */
  elapsed(): number;
}

/** Answers at once, or when so many milliseconds have passed since it last did. For one asker at a time. */
export function createPace({ pause, elapsed }: Time, apartMs: number): () => Promise<void> {
  let last = Number.NEGATIVE_INFINITY;
  return async () => {
    const early = last + apartMs - elapsed();
    if (early > 0) await pause(early);
    last = elapsed();
  };
}
