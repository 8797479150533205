/** Why a day is not archived. The alarm logs the message, which says what to do. */

/**
 * `storage`: it cannot be used. `content`: a file there is not what belongs there. `log`: the log of the day is not intact. `retention`: days
 * past retention are not dropped, because they are not archived.
 */
export type FaultCause = 'storage' | 'content' | 'log' | 'retention';

export class ArchiveFault extends Error {
  override readonly name = 'ArchiveFault';
  override readonly cause: FaultCause;

  constructor(cause: FaultCause, message: string) {
    super(message);
    this.cause = cause;
  }
}
