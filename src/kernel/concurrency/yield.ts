/** Yields to the event loop once per `every` units of work, so that long CPU work does not delay other requests. */
type YieldToEventLoop = (units?: number) => Promise<void> | undefined;

export function createYield(every: number): YieldToEventLoop {
  let done = 0;
  return (units = 1) => {
    done += units;
    if (done < every) return undefined;
    done = 0;
    return new Promise((resolve) => void setImmediate(resolve));
  };
}
