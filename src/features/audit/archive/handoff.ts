/** Passes values to a reader one at a time: a writer goes on when the reader asks for the next. */

export interface Handoff<T> {
  readonly values: AsyncGenerator<T, void>;
  /** Resolves when the value was read, or the reader has stopped. */
  push(value: T): Promise<void>;
  end(): void;
}

export function createHandoff<T extends object>(): Handoff<T> {
  let given = Promise.withResolvers<T | undefined>();
  let read = Promise.withResolvers<void>();
  let hasStopped = false;

  async function* values() {
    try {
      for (;;) {
        const value = await given.promise;
        if (value === undefined) return;
        given = Promise.withResolvers();
        yield value;
        read.resolve();
      }
    } finally {
      hasStopped = true;
      read.resolve();
    }
  }

  return {
    values: values(),
    async push(value) {
      if (hasStopped) return;
      given.resolve(value);
      await read.promise;
      read = Promise.withResolvers();
    },
    end: () => given.resolve(undefined),
  };
}
