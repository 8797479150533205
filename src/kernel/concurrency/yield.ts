/** For long work of the processor: every so often whoever else waits has a turn of the loop. */
export type Pause = () => Promise<void> | undefined;

export function createPause(every: number): Pause {
  let since = 0;
  return () => {
    since = (since + 1) % every;
    return since === 0 ? new Promise((resolve) => void setImmediate(resolve)) : undefined;
  };
}
