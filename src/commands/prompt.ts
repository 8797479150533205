/** Questions to the person at the terminal. They go to standard error, so that standard output carries results only. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { CommandError, exitCodes, Interrupted } from './command-error.ts';
import type { Io } from './io.ts';
import { printError, printQuestion } from './terminal.ts';

export const hasTerminal = (io: Io): boolean => Boolean(io.stdin.isTTY);

const maxSecretBytes = 4_096;

export const ask = (io: Io, question: string): Promise<string> => readAnswer(io, question, io.stderr);

/** The terminal does not show what is typed or pasted. */
export async function askSecret(io: Io, question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  printQuestion(io, question);
  const answer = await readAnswer(io, '', nowhere);
  printError(io, '');
  return answer;
}

export async function confirm(io: Io, question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await ask(io, `${question} [y/N] `));
}

function readAnswer(io: Io, question: string, output: NodeJS.WritableStream): Promise<string> {
  const lines = createInterface({ input: io.stdin, output, terminal: true, historySize: 0 });
  return new Promise((resolve, reject) => {
    lines.on('SIGINT', () => {
      reject(new Interrupted());
      lines.close();
      printError(io, '');
    });
    lines.on('close', () => reject(new CommandError('cancelled: nothing was entered', exitCodes.usage)));
    lines.question(question, (answer) => {
      resolve(answer.trim());
      lines.close();
    });
  });
}

/** The secret that another program writes to standard input. */
export async function readSecretFromInput(io: Io): Promise<string> {
  let text = '';
  for await (const chunk of io.stdin) {
    text += chunk;
    if (text.length > maxSecretBytes)
      throw new CommandError(
        `standard input has more than ${maxSecretBytes} bytes; that is no secret`,
        exitCodes.usage,
      );
  }
  const secret = text.trim();
  if (secret === '')
    throw new CommandError('standard input is empty; it must carry the secret', exitCodes.usage);
  return secret;
}
