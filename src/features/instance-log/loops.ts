import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { WitnessingDeps } from './feature.ts';
import { BrokenLog, type Growth } from './growth.ts';
import type { Rounds } from './rounds.ts';

/** As often as the witnesses get a checkpoint: each growth costs as much as the linking of some hundred events. */
export function createGrowthLoop(
  { grow }: Growth,
  { log, metrics, intervalSeconds }: Pick<WitnessingDeps, 'log' | 'metrics' | 'intervalSeconds'>,
): Loop {
  let reported: string | undefined;
  return {
    name: 'instance-log',
    everyMs: intervalSeconds * 1_000,
    async run(signal) {
      try {
        await grow(signal);
        metrics.gauge('service_audit_instance_log_stopped', 0);
        if (reported !== undefined) log.info('the instance log goes on');
        reported = undefined;
      } catch (error) {
        if (!(error instanceof BrokenLog)) throw error;
        metrics.gauge('service_audit_instance_log_stopped', 1);
        if (error.message !== reported)
          log.error({ reason: error.message }, 'the instance log cannot go on; it signs nothing more');
        reported = error.message;
      }
    },
  };
}

/** Soon after a new checkpoint, and at most once per interval. Without one, it asks again whom it lacks. */
export function createWitnessLoop(
  { round }: Rounds,
  {
    elapsed,
    intervalSeconds,
    takeGrown,
  }: {
    elapsed(): number;
    intervalSeconds: number;
    /** Whether there is a new checkpoint since the last call. */
    takeGrown(): boolean;
  },
): Loop {
  let notBefore = 0;
  let idleUntil = 0;
  return {
    name: 'instance-log-witnesses',
    everyMs: 1_000,
    async run(signal) {
      const now = elapsed();
      if (now < notBefore || (!takeGrown() && now < idleUntil)) return;
      const result = await round(signal);
      if (result === 'done') notBefore = now + intervalSeconds * 1_000;
      idleUntil = result === 'busy' ? 0 : now + intervalSeconds * 1_000;
    },
  };
}
