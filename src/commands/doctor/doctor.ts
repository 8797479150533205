/** `countersign doctor`: checks a server's environment from the operator's side, and says what to do. It changes nothing. */
import { CommandError, exitCodes } from '../command-error.ts';
import {
  type DevelopmentInstance,
  findDevelopmentInstance,
  requiredVariables,
} from '../development-instance.ts';
import type { Io } from '../io.ts';
import { print, printError, printJsonLine, quoted } from '../terminal.ts';
import { archiveCheck } from './archive.ts';
import { baseUrlCheck } from './base-url.ts';
import { type Check, type DoctorOptions, type Finding, problem, runChecks, type Status } from './check.ts';
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
  const development = findDevelopmentInstance(io, options.data);
  const findings = development ? await examine(development, options) : await examineServer(io, options);
  const hasProblem = findings.some(({ status }) => status === 'problem');
  if (json) printJsonLine(io, { ok: !hasProblem, findings });
  else print(io, `${findings.map(linesOf).join('\n')}\n\n${summaryOf(findings)}`);
  if (hasProblem) io.exitCode = exitCodes.failed;
}

function examineServer(io: Io, options: DoctorOptions): Promise<Finding[]> {
  if (!requiredVariables.some((name) => io.env[name] || io.env[`${name}_FILE`]))
    printError(
      io,
      'doctor checks the environment of a server: run it where the server runs, with the variables of serve. None of them is set here.',
    );
  return runChecks(checks, { env: io.env, options });
}

/** The instance of `dev`. While it does not run, it has no database and no address. */
async function examine(
  { env, runningDatabase }: DevelopmentInstance,
  options: DoctorOptions,
): Promise<Finding[]> {
  const url = await runningDatabase();
  if (url !== undefined) return runChecks(checks, { env: { ...env, DATABASE_URL: url }, options });
  const others = checks.filter((check) => check !== databaseCheck && check !== baseUrlCheck);
  return [
    problem(
      'server',
      `the instance in ${options.data} does not run`,
      'start it: `npm start`, or `countersign dev`',
    ),
    ...(await runChecks(others, { env: { ...env, DATABASE_URL: 'postgres://127.0.0.1' }, options })),
  ];
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
