/** `countersign audit …`: verifies the audit log in the database or in an exported file, or exports it. */
import { createWriteStream, readFileSync } from 'node:fs';
import { open as openPath } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { finished } from 'node:stream/promises';
import { createStatementReader, describePublicKey } from '../adapters/keys/keys.ts';
import { openAudit, verifyExport } from '../audit-app.ts';
import { type Environment, loadVariable } from '../kernel/config/config.ts';
import { keysMatch } from '../kernel/config/keypair.ts';
import { isUuid } from '../kernel/ids.ts';
import { createLog } from '../kernel/observability/log.ts';
import { CommandError } from './command-error.ts';
import { print, printError, quoted } from './terminal.ts';

interface Finding {
  readonly organizationId?: string | undefined;
  readonly sequence?: number | undefined;
  readonly eventId?: string | undefined;
  readonly problem: string;
  /** The events present are intact, but nothing proves that the export is complete. */
  readonly unproven?: boolean;
}

export async function verifyAudit(
  env: Environment,
  options: { file?: string; checkpoint?: string; organization?: string },
): Promise<void> {
  if (options.file !== undefined && options.organization !== undefined)
    throw new CommandError(
      '--organization works with the database only: an export is verified as a whole. `countersign audit export --organization` exports one organization',
    );
  const kept = options.checkpoint === undefined ? undefined : readCheckpoint(options.checkpoint);
  const finding =
    options.file === undefined
      ? await verifyDatabase(env, kept, organizationIn(options))
      : await verifyFile(env, kept, options.file);
  if (!finding) return;
  print(describe(finding));
  process.exitCode = 1;
}

export async function exportAudit(
  env: Environment,
  options: { organization?: string; output?: string },
): Promise<void> {
  const organizationId = organizationIn(options);
  const { audit, close } = await open(env);
  const out =
    options.output === undefined ? process.stdout : createWriteStream(options.output, { mode: 0o600 });
  const writeFailure = new Promise<never>((_, reject) => out.on('error', reject));
  writeFailure.catch(() => {});
  const write = async (line: object) => {
    if (out.write(`${JSON.stringify(line)}\n`)) return;
    await Promise.race([new Promise((resolve) => out.once('drain', resolve)), writeFailure]);
  };
  try {
    const events = await audit.export({ organizationId, write, onProgress: progress('exported') });
    if (out !== process.stdout) {
      out.end();
      await Promise.race([finished(out), writeFailure]);
    }
    printError(`${events} events exported`);
    const keyId = await audit.otherKey();
    if (keyId !== undefined)
      printError(
        `the log is signed with another key (kid ${keyId}): to verify this export, set JWT_PUBLIC_KEY to one of the two public keys and JWT_PREVIOUS_PUBLIC_KEYS to the other`,
      );
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR')
      throw new CommandError(`cannot write: ${message}`);
    throw error;
  } finally {
    await close();
  }
}

async function verifyDatabase(
  env: Environment,
  kept: string | undefined,
  organizationId: string | undefined,
): Promise<Finding | undefined> {
  const { audit, close } = await open(env);
  try {
    const all = await audit.organizations();
    if (organizationId !== undefined && !all.includes(organizationId))
      throw new CommandError(`the audit log has no events of organization ${organizationId}`);
    const chains = organizationId === undefined ? all : [organizationId];
    const report = progress('checked');
    let events = 0;
    for (const chain of chains) {
      const { checked, finding } = await audit.verify(chain, undefined, (done) => report(events + done));
      if (finding) return finding;
      events += checked;
    }
    const problem = kept === undefined ? undefined : await audit.keptProblem(kept);
    if (problem !== undefined) return { problem };
    print(`The audit log is intact: ${events} events in ${count(chains.length)}.`);
    return undefined;
  } finally {
    await close();
  }
}

async function verifyFile(
  env: Environment,
  kept: string | undefined,
  file: string,
): Promise<Finding | undefined> {
  const publicKeys = [
    loadVariable('jwtPublicKey', env),
    ...(loadVariable('jwtPreviousPublicKeys', env) ?? []),
  ];
  const roots = await Promise.all(publicKeys.map(describePublicKey));
  const input = (await openFile(file)).createReadStream();
  // The interface emits lines at once; an await between here and the reader would lose the first ones.
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  const { events, chains, statement, finding } = await verifyExport(lines, {
    roots,
    read: createStatementReader(),
    kept,
    onProgress: progress('checked'),
  });
  if (finding) return finding;
  const size = `${events} events in ${count(chains)}`;
  if (!statement)
    return {
      unproven: true,
      problem: `the export has no signed end, so whole chains may be missing; the part present is intact, ${size}`,
    };
  print(`The export is intact: ${size}.\n  begun at      ${statement.at}`);
  if (statement.organizationId !== null) print(`  only of       ${statement.organizationId}`);
  return undefined;
}

const openFile = (file: string) =>
  openPath(file).catch((error) => {
    throw new CommandError(`cannot read the export: ${error.message}`);
  });

function open(env: Environment) {
  const signingKeys = {
    privateKey: loadVariable('jwtPrivateKey', env),
    publicKey: loadVariable('jwtPublicKey', env),
  };
  if (!keysMatch(signingKeys))
    throw new CommandError('JWT_PRIVATE_KEY and JWT_PUBLIC_KEY do not belong together');
  return openAudit({
    databaseUrl: loadVariable('databaseUrl', env),
    signingKeys,
    previousPublicKeys: loadVariable('jwtPreviousPublicKeys', env) ?? [],
    issuer: loadVariable('baseUrl', env) ?? `http://localhost:${loadVariable('port', env)}`,
    // Findings are printed on standard output; the log would repeat them.
    log: createLog({ level: 'silent' }),
  });
}

/** The file holds the signed text alone or an entry of GET /audit/checkpoints. */
function readCheckpoint(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new CommandError(`cannot read the checkpoint: ${(error as Error).message}`);
  }
  if (!text.startsWith('{')) return text;
  try {
    const { signed } = JSON.parse(text);
    if (typeof signed === 'string') return signed;
  } catch {
    // Reported below.
  }
  throw new CommandError(
    `${file} is not a checkpoint: it must hold the signed text, or a JSON object with the text in "signed"`,
  );
}

function organizationIn({ organization }: { organization?: string }): string | undefined {
  if (organization !== undefined && !isUuid(organization))
    throw new CommandError(`${organization} is not an organization id; give a UUID`);
  return organization?.toLowerCase();
}

const describe = ({ organizationId, sequence, eventId, problem, unproven }: Finding): string =>
  [
    `${unproven ? 'NOT PROVEN' : 'NOT INTACT'}: ${quoted(problem)}`,
    ...(organizationId === undefined ? [] : [`  organization  ${quoted(organizationId)}`]),
    ...(sequence === undefined ? [] : [`  sequence      ${sequence}`]),
    ...(eventId === undefined ? [] : [`  event         ${quoted(eventId)}`]),
  ].join('\n');

const count = (chains: number) => (chains === 1 ? '1 chain' : `${chains} chains`);

/** Prints a line every 50,000 events. */
function progress(verb: string): (events: number) => void {
  let reported = 0;
  return (events) => {
    if (events - reported < 50_000) return;
    reported = events;
    printError(`${events} events ${verb}`);
  };
}
