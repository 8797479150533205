/** Tokens per second with many connections compared with few; goodput, refusals and recovery when the offered load is twice the capacity. */
import { generateKeyPair } from '../../../src/kernel/config/keypair.ts';
import { agentsPerOrganization, someAgents } from '../../support/agents.ts';
import type { BenchContext, Result } from '../../support/bench.ts';
import { prepareDatabase, withClient, withDatabase } from '../../support/database.ts';
import { type Arrival, createOpenLoad } from '../../support/generators/open-load.ts';
import { separateGenerator, share } from '../../support/generators/own-cpu.ts';
import { createLoad } from '../../support/load.ts';
import { medianCpu, microsecondsText, runMetered } from '../../support/metered.ts';
import { tokenRequest } from '../../support/requests.ts';
import { compare, median, quantile, rounds, seconds, whole } from '../../support/rounds.ts';
import { serveOurs, whileServing } from '../../support/serving.ts';
import { callers, warmUp } from '../tokens.ts';

const few = 40;
const many = 400;
/** Two measurements of the same server differ by this part. */
const tolerance = 0.05;
const goodputFloor = 0.9;
const recoverySeconds = 3;
const overloadSeconds = 2 * seconds;
const maxConnections = 4_000;
const bucketMs = 100;

export const overload = ({ databaseUrl, postgresPid, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_overload', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, callers / agentsPerOrganization);
    const agents = await withClient(database, (client) => someAgents(client, callers));
    const requests = agents.map(tokenRequest);
    return whileServing([serveOurs(database, keys)], async ([{ url, pid }]) => {
      const metered = { server: pid, postgres: postgresPid };
      const fewLoad = createLoad({ url, connections: few, requests });
      const manyLoad = createLoad({ url, connections: many, requests });
      log('warming up');
      await warmUp(fewLoad);
      const comparison = await compare({
        ours: () => runMetered(manyLoad, metered, seconds),
        baseline: () => runMetered(fewLoad, metered, seconds),
        log,
      });
      const processes = [pid, postgresPid];
      const isSeparate = separateGenerator(processes);
      log(isSeparate ? 'the load generator has a CPU of its own' : 'the load generator shares the CPUs');
      const openLoad = createOpenLoad({ url, requests, maxConnections });
      const measured: Overload[] = [];
      try {
        for (let round = 1; round <= rounds; round += 1) {
          // The capacity is measured just before, because it changes with the other work of the machine.
          const capacity = Math.max(
            (await fewLoad.run(seconds)).perSecond,
            (await manyLoad.run(1)).perSecond,
          );
          const half = { perSecond: capacity / 2, seconds: recoverySeconds };
          const double = { perSecond: 2 * capacity, seconds: overloadSeconds };
          const [calm, overloaded, after] = await openLoad.run(half, double, half);
          openLoad.close();
          measured.push({ capacity, calm, overloaded, after });
          log(`round ${round} of ${rounds}: ${describe(overloaded)}`);
        }
      } finally {
        share(processes);
      }
      return [
        {
          metric: `tokens per second with ${many} connections ÷ with ${few}`,
          result: comparison.ratio.toFixed(2),
          baseline: `${whole(comparison.ours)} ÷ ${whole(comparison.baseline)}; CPU time per token ${microsecondsText(medianCpu(comparison.ourRounds, 'total'))} and ${microsecondsText(medianCpu(comparison.baselineRounds, 'total'))}`,
          target: `at least 1.0, with a tolerance of ${tolerance}`,
          met: comparison.ratio >= 1 - tolerance,
        },
        goodputRow(measured),
        refusalRow(measured),
        recoveryRow(measured),
      ];
    });
  });

interface Overload {
  /** Tokens per second without overload. */
  readonly capacity: number;
  /** At half of the capacity, before and after the overload. */
  readonly calm: readonly Arrival[];
  readonly after: readonly Arrival[];
  readonly overloaded: readonly Arrival[];
}

const succeeded = ({ status }: Arrival): boolean => status === 200;
const isRefusal = ({ status, hasRetryAfter }: Arrival): boolean => status === 503 && hasRetryAfter;
/** Tokens that were answered before the end of the overload. */
const goodput = ({ overloaded }: Overload): number =>
  overloaded.filter(
    (arrival) => succeeded(arrival) && arrival.at + arrival.milliseconds <= overloadSeconds * 1000,
  ).length / overloadSeconds;

const describe = (arrivals: readonly Arrival[]): string => {
  const counts = new Map<string, number>();
  for (const { status, sent } of arrivals) {
    const outcome = sent ? String(status || 'no response') : 'not sent';
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  return [...counts].map(([outcome, count]) => `${whole(count)} × ${outcome}`).join(', ');
};

function goodputRow(measured: readonly Overload[]): Result {
  const ratio = median(measured.map((round) => goodput(round) / round.capacity));
  return {
    metric: 'tokens per second while the offered load is twice the capacity ÷ the capacity',
    result: ratio.toFixed(2),
    baseline: `${whole(median(measured.map(goodput)))} ÷ ${whole(median(measured.map(({ capacity }) => capacity)))}`,
    target: `at least ${goodputFloor}`,
    met: ratio >= goodputFloor,
  };
}

function refusalRow(measured: readonly Overload[]): Result {
  const others = measured.flatMap(({ overloaded }) =>
    overloaded.filter((arrival) => arrival.sent && !succeeded(arrival)),
  );
  const refusals = others.filter(isRefusal);
  const milliseconds = others.map((arrival) => arrival.milliseconds);
  return {
    metric: 'refusals during that load that are 503 with Retry-After',
    result: `${whole(refusals.length)} of ${whole(others.length)}`,
    baseline:
      others.length === 0
        ? 'no refusals'
        : `median after ${Math.round(median(milliseconds))} ms, p99 ${Math.round(quantile(milliseconds, 0.99))} ms`,
    target: 'all',
    met: refusals.length === others.length,
  };
}

/** The first tenth of a second that is as fast as before: only tokens, and at most twice the median latency. */
function recoveryRow(measured: readonly Overload[]): Result {
  const latency = (arrivals: readonly Arrival[]) => median(arrivals.map(({ milliseconds }) => milliseconds));
  const recoveries = measured.map(({ calm, after }) => {
    const limit = 2 * latency(calm);
    for (let from = 0; from < recoverySeconds * 1000; from += bucketMs) {
      const bucket = after.filter(({ at }) => at >= from && at < from + bucketMs);
      if (bucket.every(succeeded) && latency(bucket) <= limit) return from;
    }
    return recoverySeconds * 1000;
  });
  const firstSecond = measured.flatMap(({ after }) => after.filter(({ at }) => at < 1000));
  const recovery = median(recoveries);
  return {
    metric: 'time after that load until the latency is as before',
    result: `${recovery} ms`,
    baseline: `median of the first second ${latency(firstSecond).toFixed(1)} ms, before ${latency(measured.flatMap(({ calm }) => calm)).toFixed(1)} ms`,
    target: 'under 1000 ms',
    met: recovery < 1000,
  };
}
