/**
 * Signals: tells APIs that verify tokens themselves which tokens have ended (Shared Signals Framework 1.0 with CAEP events, by poll and by
 * push). Owns `signal_streams`, `signal_exclusions`, `signals` and `signal_deliveries`. The ends come from the other features through the ledger; whether a
 * token is valid is decided by the tokens feature alone.
 */
import { isoTime } from '../../kernel/clock.ts';
import type { Vault } from '../../kernel/data/vault.ts';
import type { RequirePermission } from '../../kernel/policy.ts';
import type { Outbound } from '../../kernel/ports/outbound.ts';
import type { Signer } from '../../kernel/ports/signer.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { FindLending } from '../resources/lending-store.ts';
import { createDistribution, type Distribution } from './distribution.ts';
import { createSignalListener } from './listener.ts';
import { createInactiveLoop, createPollLoop, createPurgeLoop } from './loops.ts';
import { createPollStream } from './poll.ts';
import { createPolls, type Polls } from './polls.ts';
import { createPusher } from './push.ts';
import { signalRoutes } from './routes.ts';
import { createSignalService } from './service.ts';
import { findOldestWaiting } from './signals-store.ts';

export interface SignalDeps extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'log' | 'metrics'> {
  readonly issuer: string;
  readonly signer: Signer;
  readonly vault: Vault;
  readonly outbound: Outbound;
  readonly pushEnabled: boolean;
  readonly findLending: FindLending;
  /** Ends early when the signal aborts. */
  pause(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export interface SignalStreamDeps
  extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger' | 'log' | 'metrics'>,
    Pick<SignalDeps, 'issuer' | 'signer' | 'vault' | 'pushEnabled'> {
  readonly polls: Polls;
  readonly distribution: Pick<Distribution, 'distribute' | 'distributeIn'>;
  readonly requirePermission: RequirePermission;
}

const polledRecentlyMs = 60_000;

/** Separate from the routes: the ledger needs the listener before any feature can record an event. */
export function createSignals(deps: SignalDeps) {
  const { db, clock, metrics, pushEnabled } = deps;
  metrics.gaugeFromQuery('service_signal_oldest_undelivered_seconds', () =>
    findOldestWaiting(db, isoTime(clock), new Date(clock.now() - polledRecentlyMs).toISOString()),
  );
  const polls = createPolls(deps);
  const pusher = createPusher(deps);
  const distribution = createDistribution(deps);
  return {
    polls,
    distribution,
    listener: createSignalListener(deps, distribution.wake),
    loops: [
      distribution.loop,
      createPollLoop(deps, polls),
      ...(pushEnabled ? [pusher.loop] : []),
      createPurgeLoop(deps),
    ],
    /** Pushes everything that is due now, and waits for the results. */
    async drain() {
      await distribution.distribute();
      await pusher.drain();
    },
  };
}

export function createSignalStreams(deps: SignalStreamDeps) {
  return {
    routes: signalRoutes(createSignalService(deps), createPollStream(deps), deps),
    loops: [createInactiveLoop(deps)],
  };
}
