/** Answers that are no JSON object, and `--output`: written as they arrive. */
import { createWriteStream, renameSync, rmSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { printBytes, printError, printText } from '../../terminal.ts';
import type { Connection } from '../connection.ts';
import { draftOf } from '../private-file.ts';
import type { ApiRequest } from './request.ts';

export async function saveAnswer(
  io: Io,
  connection: Connection,
  request: ApiRequest,
  output: string | undefined,
): Promise<void> {
  const response = await connection.open(request.method, request.path, request);
  if (output !== undefined && output !== '-') return saveFile(io, response, output);
  return printAnswer(io, response);
}

/** On standard output: as it is into a pipe, made safe on a terminal. */
export async function printAnswer(io: Io, response: Response): Promise<void> {
  const isText = /^(text\/|application\/(\w+\+|x-nd)?json)/.test(response.headers.get('content-type') ?? '');
  if (!io.stdout.isTTY) {
    for await (const chunk of chunksOf(response)) await printBytes(io, chunk);
    return;
  }
  if (!isText) {
    await response.body?.cancel();
    throw new CommandError(
      'the answer is a binary file; give --output <file>, or use a pipe',
      exitCodes.usage,
    );
  }
  const decoder = new TextDecoder();
  for await (const chunk of chunksOf(response)) printText(io, decoder.decode(chunk, { stream: true }));
}

async function* chunksOf(response: Response): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response.body ?? []) yield chunk;
  } catch (error) {
    throw brokenOff(response, error);
  }
}

const brokenOff = (response: Response, error: unknown): CommandError =>
  new CommandError(
    `the answer of ${new URL(response.url).origin} broke off: ${(error as Error).message}`,
    exitCodes.unavailable,
  );

/** The file appears when it is complete. It is the owner's: an export may be confidential. */
async function saveFile(io: Io, response: Response, output: string): Promise<void> {
  const draft = draftOf(output);
  try {
    const file = createWriteStream(draft, { mode: 0o600, flags: 'wx' });
    await pipeline(Readable.from(chunksOf(response)), file);
    renameSync(draft, output);
    printError(io, `${file.bytesWritten} bytes written to ${output}.`);
  } catch (error) {
    rmSync(draft, { force: true });
    if (error instanceof CommandError) throw error;
    throw new CommandError(`cannot write ${output}: ${(error as Error).message}`);
  }
}
