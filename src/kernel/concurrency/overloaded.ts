/** A queue is full, or a job waited too long in it: backpressure. The work was not started; the client may retry. */
export class Overloaded extends Error {
  constructor() {
    super('too much work is queued; nothing was done');
    this.name = 'Overloaded';
  }
}
