/** Questions to the person at the terminal. They go to standard error, so that standard output carries results only. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { CommandError, exitCodes } from './command-error.ts';
import { printError, printQuestion } from './terminal.ts';

export const hasTerminal = (): boolean => Boolean(process.stdin.isTTY);

const cancelledBySigint = 130;
const maxSecretBytes = 4_096;

export const ask = (question: string): Promise<string> => readAnswer(question, process.stderr);

/** The terminal does not show what is typed or pasted. */
export async function askSecret(question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  printQuestion(question);
  const answer = await readAnswer('', nowhere);
  printError('');
  return answer;
}

export async function confirm(question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await ask(`${question} [y/N] `));
}

function readAnswer(question: string, output: NodeJS.WritableStream): Promise<string> {
  const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  return new Promise((resolve, reject) => {
    lines.on('SIGINT', () => {
      lines.close();
      printError('');
      process.exit(cancelledBySigint);
    });
    lines.on('close', () => reject(new CommandError('cancelled: nothing was entered', exitCodes.usage)));
    lines.question(question, (answer) => {
      resolve(answer.trim());
      lines.close();
    });
  });
}

/** The secret that another program writes to standard input. */
export async function readSecretFromInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin) {
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
