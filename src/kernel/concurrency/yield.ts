/** Yields to the event loop once per `every` calls, so that long CPU work does not delay other requests. */
export type YieldToEventLoop = () => Promise<void> | undefined;

export function createYield(every: number): YieldToEventLoop {
  let calls = 0;
  return () => {
    calls = (calls + 1) % every;
    return calls === 0 ? new Promise((resolve) => void setImmediate(resolve)) : undefined;
  };
}
