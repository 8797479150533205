/** The checks of `countersign doctor`: each is bounded in time, and one that fails to run does not hide the others. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigProblems, type Environment } from '../../kernel/config/config.ts';
import { hidePasswordParameters } from '../../kernel/config/server-urls.ts';
import { quoted } from '../terminal.ts';

/** `skipped`: what it needs is not configured, or another finding says why it could not be checked. */
export type Status = 'ok' | 'warning' | 'problem' | 'skipped';

export interface Finding {
  readonly name: string;
  readonly status: Status;
  readonly found: string;
  /** For a warning or a problem. */
  readonly remedy?: string;
}

export interface CheckContext {
  readonly env: Environment;
  readonly options: DoctorOptions;
}

export interface DoctorOptions {
  readonly url?: string;
  readonly data: string;
  readonly databaseSize?: boolean;
  readonly json?: boolean;
}

export interface Check {
  /** The name of the finding when the check itself fails. */
  readonly name: string;
  readonly remedy: string;
  run(context: CheckContext): Promise<Finding[]> | Finding[];
}

export const ok = (name: string, found: string): Finding => ({ name, status: 'ok', found });
export const skipped = (name: string, found: string): Finding => ({ name, status: 'skipped', found });
export const warning = (name: string, found: string, remedy: string): Finding => ({
  name,
  status: 'warning',
  found,
  remedy,
});
export const problem = (name: string, found: string, remedy: string): Finding => ({
  name,
  status: 'problem',
  found,
  remedy,
});

/** More than all requests of one check together, each at its own limit. */
const timeoutMs = 30_000;

/** All at once, in the order of the list. */
export async function runChecks(checks: readonly Check[], context: CheckContext): Promise<Finding[]> {
  const findings = await Promise.all(checks.map((check) => runCheck(check, context)));
  return findings.flat();
}

async function runCheck({ name, remedy, run }: Check, context: CheckContext): Promise<Finding[]> {
  const timer = new AbortController();
  const late = sleep(timeoutMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`no result within ${timeoutMs / 1_000} seconds`);
  });
  late.catch(() => {});
  const result = async () => Promise.race([(async () => run(context))(), late]);
  return runPart(name, remedy, result).finally(() => timer.abort());
}

/** A part of a check that may fail alone: its failure is a finding beside those of the other parts. */
export async function runPart(
  name: string,
  remedy: string,
  part: () => Promise<Finding | Finding[]> | Finding | Finding[],
): Promise<Finding[]> {
  try {
    return [await part()].flat();
  } catch (error) {
    if (!(error instanceof ConfigProblems)) return [problem(name, reasonOf(error), remedy)];
    return [skipped(name, `not checked: ${error.problems.map((each) => quoted(each)).join('; ')}`)];
  }
}

/** One line, without the stack and without addresses that may hold a password. */
export function reasonOf(error: unknown): string {
  const messages: string[] = [];
  for (let each = error; each instanceof Error; each = each.cause) {
    const text = each.message || String((each as NodeJS.ErrnoException).code ?? each.name);
    // `fetch` says this of every failure; its cause has the reason.
    if (text !== 'fetch failed' && !messages.some((known) => known.includes(text))) messages.push(text);
  }
  return quoted(withoutCredentials(messages.join(': ') || String(error)));
}

/** Drivers repeat the address that they were given in some messages. */
const withoutCredentials = (text: string): string =>
  hidePasswordParameters(text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi, '$1'));

const clockLimitsMs = { warning: 5_000, problem: 30_000 };
const clockRemedy =
  'synchronize the clocks of all machines with NTP (chrony, systemd-timesyncd): tokens are refused when clocks differ';

/** `precisionMs`: how exactly the other time is known. */
export function clockFinding(name: string, differenceMs: number, precisionMs: number): Finding {
  const size = Math.max(0, Math.abs(differenceMs) - precisionMs);
  const seconds = (Math.abs(differenceMs) / 1_000).toFixed(1);
  const found = `its clock is ${seconds} s ${differenceMs < 0 ? 'behind' : 'ahead of'} that of this machine`;
  if (size > clockLimitsMs.problem) return problem(name, found, clockRemedy);
  if (size > clockLimitsMs.warning) return warning(name, found, clockRemedy);
  return ok(name, size === 0 ? 'agrees with this machine' : found);
}
