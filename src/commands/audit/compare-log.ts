/** Compares the checkpoint of the log in an export with one that was kept, and with the log that the instance serves. */
import type { Finding } from '../../../sdk/typescript/src/audit/findings.ts';
import { finding } from '../../../sdk/typescript/src/audit/findings.ts';
import { forkFinding, shorterFinding } from '../../../sdk/typescript/src/audit/log-comparison.ts';
import { readBytes } from '../../../sdk/typescript/src/response.ts';
import type { Checkpoint } from '../../../sdk/typescript/src/transparency/checkpoint.ts';
import { TransparencyError } from '../../../sdk/typescript/src/transparency/errors.ts';
import type { CheckpointPolicy } from '../../../sdk/typescript/src/transparency/judge-checkpoint.ts';
import { maxNoteBytes } from '../../../sdk/typescript/src/transparency/note.ts';
import { openCheckpoint } from '../../../sdk/typescript/src/transparency/open-checkpoint.ts';
import type { ReadTile } from '../../../sdk/typescript/src/transparency/read-hashes.ts';
import { tilePath } from '../../../sdk/typescript/src/transparency/tile-path.ts';
import { send } from '../client/http.ts';
import { CommandError } from '../command-error.ts';
import { quoted } from '../terminal.ts';
import { readNoteFile, type TrustOptions } from './trust.ts';

/** A checkpoint that the auditor has kept, signed by the log. */
export async function readKept(
  { logCheckpoint: file }: TrustOptions,
  { logKey }: CheckpointPolicy,
): Promise<Checkpoint | undefined> {
  if (file === undefined) return undefined;
  try {
    return (await openCheckpoint(readNoteFile(file), logKey)).checkpoint;
  } catch (error) {
    if (!(error instanceof TransparencyError)) throw error;
    throw new CommandError(
      `${file} is not a checkpoint of the log: ${quoted(error.message)}. It must hold what GET /log/checkpoint answered`,
    );
  }
}

/** `note` is the checkpoint in the export, which the log has signed. */
export async function compareLog(
  note: string,
  { logKey }: CheckpointPolicy,
  { kept, url }: { readonly kept: Checkpoint | undefined; readonly url: string | undefined },
): Promise<Finding | undefined> {
  const { checkpoint: own } = await openCheckpoint(note, logKey);
  if (url !== undefined) return comparePublic([own, ...(kept ? [kept] : [])], logKey, url);
  if (!kept) return undefined;
  if (kept.size === own.size)
    return kept.root === own.root ? undefined : finding('LOG_FORKED', { size: own.size });
  throw new CommandError(
    `the log had ${kept.size} entries at the checkpoint of --log-checkpoint, and ${own.size} at that of the export: to compare them, add --log-url with the address of the log, e.g. https://id.example.com/log`,
  );
}

async function comparePublic(
  known: readonly Checkpoint[],
  logKey: CheckpointPolicy['logKey'],
  url: string,
): Promise<Finding | undefined> {
  const read = readerOf(url);
  try {
    const { checkpoint: served } = await openCheckpoint(await read('checkpoint', maxNoteBytes), logKey);
    const readTile: ReadTile = (tile) => read(tilePath(tile), 8_192);
    for (const each of known) {
      const problem = shorterFinding(served, each) ?? (await forkFinding(readTile, each, served));
      if (problem) return problem;
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof TransparencyError)) throw error;
    if (error.code === 'TILE_MALFORMED') throw new CommandError(`${url} serves no tiles: ${error.message}`);
    return finding('LOG_CHECKPOINT_NOT_SIGNED', { reason: `at ${url}, ${error.message}` });
  }
}

function readerOf(url: string): (path: string, maxBytes: number) => Promise<Uint8Array> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new CommandError(`--log-url must be the address of the log, e.g. https://id.example.com/log`);
  const base = url.replace(/\/+$/, '');
  return (path, maxBytes) =>
    send(`${base}/${path}`, { redirect: 'error' }, (response) => readBytes(response, maxBytes));
}
