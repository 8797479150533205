/** `countersign audit verify` and `countersign audit export`: on the database, or on an export. */

import { createWriteStream, readFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Witnessed } from '../../sdk/typescript/src/audit/log-proofs.ts';
import type { CheckpointPolicy } from '../../sdk/typescript/src/transparency/judge-checkpoint.ts';
import { createStatementReader } from '../adapters/keys/keys.ts';
import {
  type ExportPart,
  type ExternalCheckpoint,
  type Finding,
  finding,
  readExternalCheckpoint,
  splitLines,
  verifyExport,
} from '../audit-app.ts';
import { compareLog, readKept } from './audit/compare-log.ts';
import { count, describe, readRoots } from './audit/describe.ts';
import { openExport } from './audit/export-text.ts';
import { openDatabaseLog } from './audit/open.ts';
import { organizationInDatabase } from './audit/organization.ts';
import { readTrust, type TrustOptions } from './audit/trust.ts';
import { CommandError } from './command-error.ts';
import { findDevelopmentInstance } from './development-instance.ts';
import type { Io } from './io.ts';
import { print, printError, quoted } from './terminal.ts';

interface VerifyOptions extends TrustOptions {
  readonly file?: string;
  readonly checkpoint?: string;
  readonly organization?: string;
  /** A file with the public keys of the instance. */
  readonly keys?: string;
  /** The data folder of `dev`, if it is named. */
  readonly data?: string;
}

export async function verifyAudit(io: Io, options: VerifyOptions): Promise<void> {
  const { file, checkpoint } = options;
  refuseTogether(options);
  const externalCheckpoint = checkpoint === undefined ? undefined : readCheckpoint(checkpoint);
  const policy = readTrust(options);
  const problem =
    file === undefined
      ? await verifyDatabase(io, { externalCheckpoint, policy }, options)
      : await verifyFile(io, { externalCheckpoint, policy }, { ...options, file });
  if (!problem) return;
  print(io, describe(problem));
  io.exitCode = 1;
}

export async function exportAudit(
  io: Io,
  options: { organization?: string; output?: string; data?: string },
): Promise<void> {
  const log = await openDatabaseLog(io, options);
  const { audit, close } = log;
  const sink = createSink(io, options.output);
  // The header and the keys wait until it is certain that the organization has events. So a refusal leaves no file.
  const waiting: string[] = [];
  let hasEvents = options.organization === undefined;
  let organizationId: string | undefined;
  const write = async ({ texts, place }: ExportPart) => {
    if (!hasEvents && organizationId !== undefined && place === 'end')
      throw unknownOrganization(organizationId);
    waiting.push(...texts);
    hasEvents ||= place === 'chain';
    if (hasEvents) await sink.write(`${waiting.splice(0).join('\n')}\n`);
  };
  try {
    organizationId = await organizationInDatabase(io, options, log);
    const events = await audit.export({ organizationId, write, onProgress: progress(io, 'exported') });
    await sink.end();
    printError(io, `${events} events exported`);
    const keyId = await audit.otherKey();
    if (keyId !== undefined)
      printError(
        io,
        `the log is signed with another key (kid ${keyId}): to verify this export, set JWT_PUBLIC_KEY to one of the two public keys and JWT_PREVIOUS_PUBLIC_KEYS to the other`,
      );
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EISDIR') throw new CommandError(`${options.output} is a folder; name a file`);
    if (code === 'ENOENT' || code === 'EACCES') throw new CommandError(`cannot write: ${message}`);
    throw error;
  } finally {
    await close();
  }
}

/** The file is created with the first line. */
function createSink({ stdout }: Io, output: string | undefined) {
  let out: Writable | undefined;
  let failure: Promise<never> | undefined;
  const opened = () => {
    if (out && failure) return { out, failure };
    out = output === undefined ? stdout : createWriteStream(output, { mode: 0o600 });
    failure = new Promise<never>((_, reject) => out?.on('error', reject));
    failure.catch(() => {});
    return { out, failure };
  };
  return {
    async write(text: string): Promise<void> {
      const { out, failure } = opened();
      if (out.write(text)) return;
      await Promise.race([new Promise((resolve) => out.once('drain', resolve)), failure]);
    },
    async end(): Promise<void> {
      if (output === undefined) return;
      const { out, failure } = opened();
      out.end();
      await Promise.race([finished(out), failure]);
    },
  };
}

function refuseTogether({ file, organization, keys, logKey, logUrl }: VerifyOptions): void {
  if (file !== undefined && organization !== undefined)
    throw new CommandError(
      '--organization works with the database only: an export is verified as a whole. `countersign audit export --organization` exports one organization',
    );
  if (file === undefined && keys !== undefined)
    throw new CommandError('--keys works with an export only: the database is verified with JWT_PUBLIC_KEY');
  if (file === undefined && logUrl !== undefined)
    throw new CommandError('--log-url works with an export only: the database has the log itself');
  if (organization !== undefined && logKey !== undefined)
    throw new CommandError('--log-key works without --organization: the log is that of all organizations');
}

interface Against {
  readonly externalCheckpoint: ExternalCheckpoint | undefined;
  readonly policy: CheckpointPolicy | undefined;
}

async function verifyDatabase(
  io: Io,
  { externalCheckpoint, policy }: Against,
  options: VerifyOptions,
): Promise<Finding | undefined> {
  const kept = policy && (await readKept(options, policy));
  const log = await openDatabaseLog(io, options);
  const { audit, verifyLog, close } = log;
  try {
    const organizationId = await organizationInDatabase(io, options, log);
    const all = await audit.organizations();
    if (organizationId !== undefined && !all.includes(organizationId))
      throw unknownOrganization(organizationId);
    const chains = organizationId === undefined ? all : [organizationId];
    const treeHeadProblem = organizationId === undefined ? await audit.verifyTreeHeads() : undefined;
    if (treeHeadProblem) return treeHeadProblem;
    const onProgress = progress(io, 'checked');
    let events = 0;
    for (const chain of chains) {
      const { checked, finding: problem } = await audit.verify(chain, undefined, {
        onProgress: (done) => onProgress(events + done),
        treeHeadsVerified: organizationId === undefined,
      });
      if (problem) return problem;
      events += checked;
    }
    const problem =
      externalCheckpoint === undefined ? undefined : await audit.checkExternalCheckpoint(externalCheckpoint);
    if (problem) return problem;
    const { finding: logProblem, witnessed } = policy
      ? await verifyLog({ policy, kept })
      : { witnessed: null };
    if (logProblem) return logProblem;
    print(io, `The audit log is ${intact(witnessed)}: ${events} events in ${count(chains.length, 'chain')}.`);
    return undefined;
  } finally {
    await close();
  }
}

async function verifyFile(
  io: Io,
  { externalCheckpoint, policy }: Against,
  options: VerifyOptions & { readonly file: string },
): Promise<Finding | undefined> {
  const roots = await readRoots(io, options, () => findDevelopmentInstance(io, options.data));
  const kept = policy && (await readKept(options, policy));
  const verdict = await verifyExport(splitLines(await openExport(options.file)), {
    roots,
    read: createStatementReader(),
    externalCheckpoint,
    log: policy,
    onProgress: progress(io, 'checked'),
  });
  const { events, chains, statement, witnessed, logCheckpoint } = verdict;
  if (verdict.finding) return verdict.finding;
  if (!statement) return finding('EXPORT_WITHOUT_STATEMENT', { events, chains: count(chains, 'chain') });
  const problem =
    policy && logCheckpoint !== undefined
      ? await compareLog(logCheckpoint, policy, { kept, url: options.logUrl })
      : undefined;
  if (problem) return problem;
  print(io, `The export is ${intact(witnessed)}: ${events} events in ${count(chains, 'chain')}.`);
  print(io, `  begun at      ${statement.at}`);
  if (statement.organizationId !== null) print(io, `  only of       ${statement.organizationId}`);
  if (typeof statement.day === 'string') print(io, `  only day      ${statement.day}`);
  if (witnessed && witnessed.events < events)
    print(io, `  not witnessed ${events - witnessed.events} events, newer than the checkpoint of the log`);
  return undefined;
}

const intact = (witnessed: Witnessed | null): string =>
  witnessed
    ? `intact and witnessed at ${witnessed.time} by ${witnessed.witnesses.map(quoted).join(', ')}`
    : 'intact';

const unknownOrganization = (organizationId: string) =>
  new CommandError(`the audit log has no events of organization ${organizationId}`);

/** The file has an entry of GET /audit/checkpoints; of a checkpoint that is signed itself, the signed text is enough. */
function readCheckpoint(file: string): ExternalCheckpoint {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CommandError(
      code === 'EISDIR'
        ? `${file} is a folder; name the file with the checkpoint`
        : `cannot read the checkpoint: ${message}`,
    );
  }
  const checkpoint = readExternalCheckpoint(text);
  if (checkpoint) return checkpoint;
  throw new CommandError(
    `${file} is not a checkpoint: it must hold one entry of GET /api/v1/audit/checkpoints, or the signed text of an earlier version`,
  );
}

/** One line per 50,000 events. */
function progress(io: Io, word: string): (events: number) => void {
  let printed = 0;
  return (events) => {
    if (events - printed < 50_000) return;
    printed = events;
    printError(io, `${events} events ${word}`);
  };
}
