/** What is over by the million goes in pieces: each a statement well below the time allowed, none of which holds anybody up. */
const atOnce = 5_000;

/** Repeats a step that takes away at most so many and answers how many it took, until little is left or we are to stop. */
export async function inPieces(
  signal: AbortSignal,
  step: (atMost: number) => Promise<number>,
): Promise<void> {
  while (!signal.aborted && (await step(atOnce)) >= atOnce);
}
