/**
 * Pushes signals to receivers (RFC 8935): one after the other for each stream, with growing pauses while a receiver fails, for as long as the
 * signals are kept. A round does not wait for its sends, so a slow receiver does not delay the others.
 */
import { limits } from '../../contract/limits.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import { VaultProblem } from '../../kernel/data/vault.ts';
import { OutboundProblem } from '../../kernel/ports/outbound.ts';
import type { SignalDeps } from './feature.ts';
import { holdsLease, leaseStreams, type PushJob, releaseStream } from './push-store.ts';
import { createSignSignal } from './security-event-token.ts';
import { channel, postponeSignal, readDue, removeFromQueue, type StoredSignal } from './signals-store.ts';

const second = 1_000;
const minute = 60 * second;
/** The pause after a failure; the last one repeats. */
export const pushDelays: readonly number[] = [
  second,
  5 * second,
  15 * second,
  30 * second,
  minute,
  2 * minute,
  5 * minute,
  10 * minute,
  15 * minute,
];
const delayAfter = (failures: number): number =>
  pushDelays[Math.min(failures, pushDelays.length) - 1] ?? second;

/** In one process. */
const maxStreams = 20;
const maxStreamsPerOrganization = 5;
const signalsPerTurn = 50;
/** A turn ends after this time, so that its lease outlasts its last send. */
const turnMs = 30 * second;
const leaseMs = turnMs + limits.signals.push.timeoutMs + 20 * second;
/** Shutdown waits this long for sends. The others are sent again when their leases expire. */
const shutdownGraceMs = 5 * second;

/** `refused`: the receiver does not want this signal (RFC 8935 §2.4), and may want others. */
type SendResult =
  | { readonly outcome: 'accepted' }
  | { readonly outcome: 'refused' | 'failed'; readonly reason: string };

/** The code of a refusal (RFC 8935 §2.3). Other text of a receiver is not logged. */
function errorIn(body: Buffer): string | undefined {
  const [, code] = /"err"\s*:\s*"([\w.-]{1,64})"/.exec(body.toString('latin1')) ?? [];
  return code;
}

export interface Pusher {
  readonly loop: Loop;
  /** Sends everything that is due now, and waits for the results. */
  drain(): Promise<void>;
}

export function createPusher(deps: SignalDeps): Pusher {
  const { db, clock, ids, log, metrics, outbound, vault } = deps;
  const sign = createSignSignal(deps);
  const inFlight = new Map<Promise<void>, PushJob>();
  let wake = () => {};
  let isStopping = false;
  const isoAfter = (milliseconds: number) => new Date(clock.now() + milliseconds).toISOString();
  const countPushed = metrics.counter('service_signals_delivered_total', { method: 'push' });
  const countFailed = metrics.counter('service_signal_push_failures_total', {});

  const send = async (job: PushJob, signal: StoredSignal): Promise<SendResult> => {
    try {
      const authorization = job.authorizationHeader && vault.open(job.authorizationHeader, job.streamId);
      const { status, body } = await outbound.send({
        method: 'POST',
        url: job.endpointUrl,
        headers: {
          'Content-Type': 'application/secevent+jwt',
          Accept: 'application/json',
          'User-Agent': 'Countersign-Signals/1.0',
          ...(authorization && { Authorization: authorization }),
        },
        body: await sign(job, signal),
        timeoutMs: limits.signals.push.timeoutMs,
        maxBytes: limits.signals.push.maxResponseBytes,
        overflow: 'truncate',
      });
      if (status >= 200 && status < 300) return { outcome: 'accepted' };
      const reason = `the receiver answered ${status}`;
      if (status !== 400) return { outcome: 'failed', reason };
      return { outcome: 'refused', reason: [reason, errorIn(body)].filter(Boolean).join(': ') };
    } catch (error) {
      if (error instanceof OutboundProblem) return { outcome: 'failed', reason: error.detail };
      if (error instanceof VaultProblem)
        return { outcome: 'failed', reason: `the authorization header cannot be read: ${error.message}` };
      throw error;
    }
  };

  const settle = async (
    job: PushJob,
    { signalId, attempts }: StoredSignal & { attempts: number },
    result: SendResult,
  ) => {
    if (result.outcome === 'accepted') {
      countPushed();
      await removeFromQueue(db, job.streamId, [signalId]);
      return;
    }
    countFailed();
    const { streamId, organizationId } = job;
    const { reason } = result;
    log.warn(
      { streamId, organizationId, signalId, receiver: new URL(job.endpointUrl).origin, reason },
      'signal not accepted; it is sent again',
    );
    if (result.outcome === 'refused')
      await postponeSignal(db, streamId, signalId, isoAfter(delayAfter(attempts + 1)));
  };

  const deliver = async (job: PushJob) => {
    try {
      const endsAt = clock.now() + turnMs;
      const due = await readDue(db, job.streamId, isoAfter(0), signalsPerTurn);
      let hasFailed = false;
      for (const signal of due) {
        if (isStopping || clock.now() > endsAt) break;
        // The receiver may have another address or header by now.
        if (!(await holdsLease(db, job))) return;
        const result = await send(job, signal);
        await settle(job, signal, result);
        hasFailed = result.outcome === 'failed';
        if (hasFailed) break;
      }
      const failures = hasFailed ? job.failures + 1 : 0;
      await releaseStream(db, job, failures, isoAfter(hasFailed ? delayAfter(failures) : 0));
    } catch (error) {
      log.error(
        { err: error, streamId: job.streamId },
        'push of signals not completed; they are sent again when the lease expires',
      );
    }
  };

  const start = (job: PushJob) => {
    const delivering = deliver(job);
    inFlight.set(delivering, job);
    void delivering.finally(() => {
      inFlight.delete(delivering);
      // More may be due, of this stream or of one that was left out for want of room.
      wake();
    });
  };

  const streamsInFlight = (): ReadonlyMap<string, number> =>
    new Map(
      [...Map.groupBy(inFlight.values(), ({ organizationId }) => organizationId)].map(
        ([organizationId, jobs]) => [organizationId, jobs.length],
      ),
    );

  const round = async (): Promise<number> => {
    const capacity = maxStreams - inFlight.size;
    if (capacity <= 0 || isStopping) return 0;
    const jobs = await leaseStreams(db, {
      now: isoAfter(0),
      leaseExpiresAt: isoAfter(leaseMs),
      lease: ids.uuid(),
      capacity,
      perOrganization: maxStreamsPerOrganization,
      inFlight: streamsInFlight(),
    });
    for (const job of jobs) start(job);
    return jobs.length;
  };

  return {
    loop: {
      name: 'signals-push',
      everyMs: second,
      async run() {
        await round();
      },
      begin(wakeLoop) {
        wake = wakeLoop;
        const stopListening = db.listen(channel, wakeLoop);
        return async () => {
          wake = () => {};
          isStopping = true;
          await stopListening();
          await Promise.race([
            Promise.all(inFlight.keys()),
            deps.pause(shutdownGraceMs, new AbortController().signal),
          ]);
        };
      },
    },
    async drain() {
      while ((await round()) > 0 || inFlight.size > 0) await Promise.all(inFlight.keys());
    },
  };
}
