/** `countersign apply`: read the file, read the server, show the difference, ask, apply. */
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { ask } from '../../prompt.ts';
import { print, printError, printJsonLine } from '../../terminal.ts';
import type { AccountOptions } from '../account.ts';
import { type Change, labelOf } from './change.ts';
import { createClientSecrets } from './client-secrets.ts';
import { execute, type Outcome } from './execute.ts';
import { createProblems, type IdentityFile, readIdentity } from './file/identity-file.ts';
import { readSources } from './file/sources.ts';
import { extentOf, readLiveState } from './live-state.ts';
import { makePlan } from './plan.ts';
import { planAsJson, printPlan, summaryOf } from './print-plan.ts';
import { createReferences, prunedOrganizations } from './references.ts';
import { openSecretSink, type SecretSink } from './secrets-file.ts';
import { openSession, type Session } from './session.ts';

interface ApplyOptions extends IdentityOptions {
  readonly file: readonly string[];
}

export interface IdentityOptions extends AccountOptions {
  readonly plan?: boolean;
  readonly prune?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
  readonly secretsTo?: string;
  readonly sendSecrets?: boolean;
}

const maxListed = 20;

export async function apply(io: Io, options: ApplyOptions): Promise<void> {
  const file = readIdentity(await readSources(io, options.file));
  const readsInput = options.file.includes('-');
  await applyIdentity(io, file, options, { command: 'apply', readsInput, report: {} });
}

interface Origin {
  readonly command: 'apply' | 'import';
  /** The identities are on standard input, so no answer can be. */
  readonly readsInput: boolean;
  /** Further fields of the JSON output. */
  readonly report: object;
}

export async function applyIdentity(
  io: Io,
  file: IdentityFile,
  options: IdentityOptions,
  origin: Origin,
): Promise<void> {
  const { prune = false, json = false } = options;
  const session = await openSession(io, options, origin.command);
  const live = await readLiveState(session.api, session.callerId, extentOf(file, prune));
  const problems = createProblems();
  const references = createReferences(file, live, problems);
  const pruned = prune ? prunedOrganizations(file, references) : undefined;
  const clientSecrets = createClientSecrets(io, problems, options);
  const { personId: ownPersonId } = session;
  const stages = makePlan({ file, live, references, problems, ownPersonId, clientSecrets, pruned });
  const changes = stages.flat();

  if (!json) printPlan(io, changes);
  if (changes.length === 0 || options.plan) {
    if (json) printJson(io, session, changes, { done: new Set() }, [], origin);
    if (changes.length > 0) io.exitCode = exitCodes.different;
    return;
  }
  await confirm(io, changes, options, origin);
  const createsSecrets = changes.some(({ action, kind }) => action === 'create' && kind === 'webhook');
  const secrets = openSecretSink(io, createsSecrets ? options.secretsTo : undefined, json);
  try {
    const outcome = await execute(io, stages, session.api, references.ids, secrets.keep);
    report(io, session, changes, outcome, secrets, json, origin);
  } finally {
    secrets.close();
  }
}

/** Irreversible changes are asked about separately. */
async function confirm(
  io: Io,
  changes: readonly Change[],
  { yes, json }: IdentityOptions,
  { command, readsInput }: Origin,
): Promise<void> {
  if (yes) return;
  if (!io.stdin.isTTY || !io.stderr.isTTY || readsInput || json)
    throw new CommandError(
      `nothing was changed: without a terminal to ask on, ${command} needs --yes`,
      exitCodes.usage,
    );
  if (!(await isYes(io, `Apply these changes (${summaryOf(changes).slice(0, -1)})? Type yes: `, 'yes')))
    throw refused();
  const final = changes.filter(({ irreversible }) => irreversible);
  if (final.length === 0) return;
  printError(
    io,
    final
      .slice(0, maxListed)
      .map((change) => `  ${labelOf(change)}`)
      .join('\n'),
  );
  const question = `${final.length} of them cannot be undone. Type ${final.length} to go on: `;
  if (!(await isYes(io, question, String(final.length)))) throw refused();
}

const refused = () => new CommandError('nothing was changed');

const isYes = async (io: Io, question: string, wanted: string): Promise<boolean> =>
  (await ask(io, question)).toLowerCase() === wanted;

function report(
  io: Io,
  session: Session,
  changes: readonly Change[],
  outcome: Outcome,
  secrets: SecretSink,
  json: boolean,
  origin: Origin,
): void {
  const { done, failure } = outcome;
  if (json) printJson(io, session, changes, outcome, secrets.kept, origin);
  else if (!failure) print(io, `${changes.length === 1 ? '1 change' : `${changes.length} changes`} applied.`);
  if (!json) printError(io, `The audit log has them with the user agent ${session.userAgent}.`);
  if (secrets.path !== undefined) printError(io, `The secrets of new webhooks are in ${secrets.path}.`);
  if (!failure) return;
  const open = changes.filter((change) => !done.has(change) && change !== failure.change);
  printError(
    io,
    `${done.size} of ${changes.length} changes are done. Not done, besides the one that failed: ${open.length}`,
  );
  for (const change of open.slice(0, maxListed)) printError(io, `  ${change.action} ${labelOf(change)}`);
  if (open.length > maxListed) printError(io, `  and ${open.length - maxListed} more`);
  const { error, change } = failure;
  if (!(error instanceof CommandError)) throw error;
  throw new CommandError(
    `cannot ${change.action} ${labelOf(change)}: ${error.message}. Run ${origin.command} again to do the rest`,
    error.exitCode,
  );
}

function printJson(
  io: Io,
  { api, run, userAgent }: Session,
  changes: readonly Change[],
  { done, failure }: Outcome,
  secrets: SecretSink['kept'],
  origin: Origin,
): void {
  const statusOf = (change: Change) =>
    done.has(change) ? 'done' : failure?.change === change ? 'failed' : failure ? 'not done' : 'planned';
  printJsonLine(io, {
    url: api.url,
    run,
    userAgent,
    changes: changes.map((change) => ({ ...planAsJson(change), status: statusOf(change) })),
    ...(failure && {
      error: failure.error instanceof Error ? failure.error.message : String(failure.error),
    }),
    secrets,
    ...origin.report,
  });
}
