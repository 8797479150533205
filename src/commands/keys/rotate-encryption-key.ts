/** `countersign rotate-encryption-key`: encrypts all stored secrets with DATA_ENCRYPTION_KEY, while servers run. */
import { type App, createApp } from '../../app.ts';
import { loadConfig } from '../../kernel/config/config.ts';
import { createLog } from '../../kernel/observability/log.ts';
import { refuseOtherKey } from '../bootstrap.ts';
import { CommandError } from '../command-error.ts';
import type { Io } from '../io.ts';
import { print, printError } from '../terminal.ts';

interface RotationOptions {
  readonly dryRun?: boolean;
  readonly check?: boolean;
  readonly skipUnreadable?: boolean;
}

type RowCount = Awaited<ReturnType<App['encryption']['count']>>;
type RotationResult = Awaited<ReturnType<App['encryption']['rotate']>>;

const origin = {
  requestId: 'rotate-encryption-key',
  ipAddress: '127.0.0.1',
  userAgent: 'countersign rotate-encryption-key',
};

export async function rotateEncryptionKey(io: Io, options: RotationOptions): Promise<void> {
  const config = loadConfig(io.env);
  if (!config.dataEncryptionKey)
    throw new CommandError(
      'DATA_ENCRYPTION_KEY is missing (or DATA_ENCRYPTION_KEY_FILE): set it to the new key, and DATA_ENCRYPTION_PREVIOUS_KEYS to the earlier ones',
    );
  const log = createLog({ level: 'warn', destination: io.stderr });
  const app = await createApp({ config, log });
  try {
    if (options.dryRun || options.check) await report(io, app, options);
    else await rotate(io, app, options.skipUnreadable ?? false);
  } finally {
    await app.close();
  }
}

async function report(
  io: Io,
  { encryption }: App,
  { check, skipUnreadable = false }: RotationOptions,
): Promise<void> {
  const { columns, left } = await encryption.count({ skipUnreadable });
  printCounts(io, encryption.keyId, columns);
  if (!check) return;
  const unknown = columns.reduce((sum, column) => sum + column.unknown, 0);
  if (left === 0 && unknown > 0)
    return print(
      io,
      `DATA_ENCRYPTION_KEY encrypts the rows that the configured keys decrypt. ${rowsOf(unknown)} unreadable with them: keep every other key that may decrypt them.`,
    );
  if (left === 0) return print(io, 'DATA_ENCRYPTION_KEY encrypts all rows: the other keys are not needed.');
  print(io, `${rowsOf(left)} left: the other keys are still needed.`);
  io.exitCode = 1;
}

async function rotate(io: Io, app: App, skipUnreadable: boolean): Promise<void> {
  const { encryption } = app;
  if (!skipUnreadable) refuseUnknownKeys(await encryption.count({ skipUnreadable }));
  const operator = await app.db.transaction((tx) => app.agents.findOperator(tx));
  if (!operator)
    throw new CommandError(
      "there is no operator, in whose organization's audit log the rotation is recorded: run `countersign bootstrap` first",
    );
  await refuseOtherKey(app);
  await app.audit.prepare({ takeOver: false });
  const { organizationId, agentId } = operator;
  const { reencrypted, damaged, unknown, columns, left } = await encryption.rotate({
    actor: { ...origin, agentId },
    subject: { organizationId, agentId },
    skipUnreadable,
    onProgress: createProgress(io),
  });
  print(io, `${rowsOf(reencrypted)} encrypted with the key ${encryption.keyId}.`);
  printUnreadable(io, damaged, 'no key decrypts it; it was changed since it was encrypted');
  printUnreadable(io, unknown, 'no key decrypts it; its key is not configured');
  printCounts(io, encryption.keyId, columns);
  if (left === 0) return;
  const ofServers = left - damaged.rows - (skipUnreadable ? 0 : unknown.rows);
  if (ofServers > 0)
    printError(
      io,
      `${rowsOf(ofServers)} left: a server still encrypts with another key. Restart it with the new key, then run this command again`,
    );
  io.exitCode = 1;
}

function printUnreadable(io: Io, { rows, first }: RotationResult['damaged'], reason: string): void {
  for (const name of first) printError(io, `${name}: ${reason}`);
  if (rows > first.length) printError(io, `and ${rows - first.length} more rows, for the same reason`);
}

function refuseUnknownKeys({ columns }: RowCount): void {
  const keyIds = [...new Set(columns.flatMap(({ unknownKeyIds }) => unknownKeyIds))];
  if (keyIds.length === 0) return;
  const rows = columns.reduce((sum, { unknown }) => sum + unknown, 0);
  throw new CommandError(
    `${rowsOf(rows)} encrypted with a key that is not configured (${keyIds.join(', ')}); nothing was changed. Add it to DATA_ENCRYPTION_PREVIOUS_KEYS. If it is lost, run with --skip-unreadable, and rotate the secrets of the webhooks and connections that it names`,
  );
}

const rowsOf = (rows: number): string => (rows === 1 ? '1 row is' : `${rows} rows are`);

function printCounts(io: Io, keyId: string | undefined, columns: RowCount['columns']): void {
  print(io, `DATA_ENCRYPTION_KEY is the key ${keyId}.`);
  for (const { name, current, other, plain, unknown } of columns)
    print(
      io,
      `  ${name}: ${current} with it, ${other} with another key, ${plain} plain, ${unknown} unreadable`,
    );
}

/** At most one line a second, and the first at once. */
function createProgress(io: Io): (done: number, left: number) => void {
  let printedAt = Number.NEGATIVE_INFINITY;
  return (done, left) => {
    const now = performance.now();
    if (left > 0 && now - printedAt < 1_000) return;
    printedAt = now;
    printError(io, `${done} rows done, ${left} left`);
  };
}
