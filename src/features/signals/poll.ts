/** One poll of a receiver (RFC 8936): what it acknowledges, and the signals of the answer. */
import { limits } from '../../contract/limits.ts';
import type { Caller } from '../../kernel/caller.ts';
import { fail } from '../../kernel/fail.ts';
import type { AccessCheck } from '../../kernel/http/route.ts';
import { isUuid } from '../../kernel/ids.ts';
import type { SignalStreamDeps } from './feature.ts';
import { createOwnedStreams } from './owned-streams.ts';
import type { PollRequest, PollResponse } from './schema.ts';
import { createSignSignal } from './security-event-token.ts';
import { hasUndistributed, readQueue, removeFromQueue } from './signals-store.ts';
import type { StoredStream } from './streams-store.ts';

export interface PollInput {
  readonly streamId: string;
  readonly request: PollRequest;
  /** Aborted when the client has gone or the server closes. */
  readonly ended: AbortSignal;
  recheckAccess(): Promise<AccessCheck>;
}

export type PollStream = (caller: Caller, input: PollInput) => Promise<PollResponse>;

export function createPollStream(deps: SignalStreamDeps): PollStream {
  const { db, log, metrics, polls, distribution } = deps;
  const { requireOwn } = createOwnedStreams(deps);
  const sign = createSignSignal(deps);
  const countPolled = metrics.counter('service_signals_delivered_total', { method: 'poll' });

  /** Ids that were never in the queue are ignored. */
  const acknowledge = async (stream: StoredStream, { ack = [], setErrs = {} }: PollRequest) => {
    const refused = Object.keys(setErrs);
    const known = [...ack, ...refused].filter(isUuid);
    if (known.length === 0) return;
    const removed = await removeFromQueue(db, stream.streamId, known);
    for (let count = 0; count < removed; count += 1) countPolled();
    if (refused.length > 0)
      log.warn(
        { streamId: stream.streamId, organizationId: stream.organizationId, refused: refused.length },
        'a receiver refused signals; they are not sent again',
      );
  };

  /** At most `max`, which may be 0. `moreAvailable` is false only when every end that was committed before is in an answer. */
  const read = async (stream: StoredStream, max: number): Promise<PollResponse> => {
    const { streamId, organizationId } = stream;
    let areComing = await hasUndistributed(db, organizationId);
    if (areComing) {
      await distribution.distribute(organizationId);
      // Those that another process distributes at the moment.
      areComing = await hasUndistributed(db, organizationId);
    }
    // After the question: what it did not see is in the queue.
    const found = await readQueue(db, streamId, max + 1);
    const sets = await Promise.all(
      found.slice(0, max).map(async (signal) => [signal.signalId, await sign(stream, signal)] as const),
    );
    return { sets: Object.fromEntries(sets), moreAvailable: areComing || found.length > max };
  };

  const isEmpty = ({ sets }: PollResponse) => Object.keys(sets).length === 0;

  return async (caller, { streamId: wantedId, request, ended, recheckAccess }) => {
    // The stream's own spelling of its id: its polls end each other, and are woken, by it.
    const stream = await requireOwn(caller, wantedId);
    const { streamId } = stream;
    if (stream.method !== 'poll')
      fail('SIGNAL_STREAM_NOT_FOUND', { message: 'The stream is delivered by push; it cannot be polled.' });
    await acknowledge(stream, request);
    const { maxEvents: max = limits.signals.maxEvents.default, returnImmediately = false } = request;
    if (max === 0 || returnImmediately) return read(stream, max);
    const open = polls.open({ streamId, ended });
    try {
      for (let hasWaited = false; ; hasWaited = true) {
        // Also at the end: an empty answer says that nothing waits, and a receiver counts its silence from there.
        const answer = await read(stream, max);
        if (open.ended.aborted && isEmpty(answer)) return answer;
        if (!isEmpty(answer)) {
          if (hasWaited && (await recheckAccess()) !== 'allowed') fail('UNAUTHORIZED');
          return answer;
        }
        await open.wait();
        // It may have been deleted.
        await requireOwn(caller, streamId);
      }
    } finally {
      open.close();
    }
  };
}
