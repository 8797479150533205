/** `countersign doctor`: checks a server's environment from the operator's side, and says what to do. It changes nothing. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError, exitCodes } from '../command-error.ts';
import type { Io } from '../io.ts';
import { print, printError, printJsonLine, quoted } from '../terminal.ts';
import { archiveCheck } from './archive.ts';
import { baseUrlCheck } from './base-url.ts';
import { type Check, type DoctorOptions, type Finding, runChecks, type Status } from './check.ts';
import { configurationCheck, keysCheck, policiesCheck } from './configuration.ts';
import { databaseCheck } from './database.ts';
import { diskCheck, limitsCheck, nodeCheck } from './machine.ts';
import { kafkaCheck, natsCheck, providerCheck, redisCheck, stripeCheck } from './services.ts';
import { tracingCheck } from './tracing.ts';

const checks: readonly Check[] = [
  configurationCheck,
  keysCheck,
  policiesCheck,
  databaseCheck,
  redisCheck,
  kafkaCheck,
  natsCheck,
  archiveCheck,
  stripeCheck,
  providerCheck,
  tracingCheck,
  baseUrlCheck,
  nodeCheck,
  limitsCheck,
  diskCheck,
];

export async function doctor(io: Io, options: DoctorOptions): Promise<void> {
  const { url, json } = options;
  if (url !== undefined && !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new CommandError(`--url must be an http or https address; it is "${quoted(url)}"`, exitCodes.usage);
  if (!required.some((name) => io.env[name] || io.env[`${name}_FILE`]))
    printError(io, whereToRun(options.data));
  const findings = await runChecks(checks, { env: io.env, options });
  const hasProblem = findings.some(({ status }) => status === 'problem');
  if (json) printJsonLine(io, { ok: !hasProblem, findings });
  else print(io, `${findings.map(linesOf).join('\n')}\n\n${summaryOf(findings)}`);
  if (hasProblem) io.exitCode = exitCodes.failed;
}

const required = ['DATABASE_URL', 'REDIS_URL', 'JWT_PRIVATE_KEY', 'JWT_PUBLIC_KEY'];

function whereToRun(data: string): string {
  const line =
    'doctor checks the environment of a server: run it where the server runs, with the variables of serve. None of them is set here.';
  return existsSync(join(data, 'admin.json'))
    ? `${line} The instance of \`countersign dev\` in ${quoted(data)} sets its own; the findings do not concern it.`
    : line;
}

const linesOf = ({ name, status, found, remedy }: Finding): string => {
  const line = `${status.padEnd(8)} ${name.padEnd(24)} ${quoted(found)}`;
  return remedy === undefined ? line : `${line}\n${' '.repeat(34)}→ ${quoted(remedy)}`;
};

function summaryOf(findings: readonly Finding[]): string {
  const count = (status: Status) => findings.filter((finding) => finding.status === status).length;
  const counted = (number: number, word: string) => `${number} ${word}${number === 1 ? '' : 's'}`;
  return `${counted(count('problem'), 'problem')}, ${counted(count('warning'), 'warning')}, ${count('ok')} ok, ${count('skipped')} skipped`;
}
