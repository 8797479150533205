/** Which queue refused: a batcher or fair queue, or the wait for a database connection. */
export type OverloadedQueue = 'work' | 'database_connections';

const reasons: Readonly<Record<OverloadedQueue, string>> = {
  work: 'too much work is queued; nothing was done',
  database_connections: 'every database connection is in use',
};

/**
 * A queue is full, or a job waited too long in it: backpressure. The work was not started; the client may retry. A request may
 * have used the database before it waits for another connection, so only `work` says that nothing was done.
 */
export class Overloaded extends Error {
  readonly queue: OverloadedQueue;

  constructor(queue: OverloadedQueue = 'work') {
    // Refused work has no stack, which would take a fifth of the time of the refusal.
    const { stackTraceLimit } = Error;
    if (queue === 'work') Error.stackTraceLimit = 0;
    super(reasons[queue]);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'Overloaded';
    this.queue = queue;
  }
}
