/** Our commands on a pseudo terminal, which Python's pty module makes: questions, tables and colours as a person sees them. */
import { spawn } from 'node:child_process';
import { bin, findProgram } from './programs.ts';

/** Answers each question when its text appears, and ends with the exit code of the command. */
const script = `import json, os, pty, select, signal, struct, sys, fcntl, termios, time
args, answers, columns = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    os.execvp(args[0], args)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 40, columns, 0, 0))
seen = b''
end = time.time() + 120
while time.time() < end:
    ready, _, _ = select.select([fd], [], [], 0.2)
    if ready:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    if answers and answers[0][0].encode() in seen:
        time.sleep(0.1)
        seen = b''
        os.write(fd, answers.pop(0)[1].encode())
else:
    os.kill(pid, signal.SIGKILL)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) & 255)`;

export const hasPty = (): boolean => findProgram('python3') !== undefined;

export interface TerminalRun {
  readonly code: number | null;
  /** All that the terminal showed. */
  readonly screen: string;
}

/** `answers` are pairs of the text of a question and the keys to press; "\r" is Enter, "\u0003" Ctrl-C. */
export function runOnTerminal(
  args: readonly string[],
  options: {
    readonly env?: Record<string, string>;
    readonly cwd?: string;
    readonly columns?: number;
    readonly answers?: readonly (readonly [string, string])[];
  } = {},
): Promise<TerminalRun> {
  const { env = {}, answers = [], columns = 100, cwd } = options;
  const child = spawn(
    'python3',
    ['-c', script, JSON.stringify([[process.execPath, bin, ...args], answers, columns])],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH, HOME: process.env.HOME, TERM: 'xterm', CONSOLE_BUILD: 'false', ...env },
      ...(cwd !== undefined && { cwd }),
    },
  );
  let screen = '';
  child.stdout.on('data', (chunk) => (screen += chunk));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, screen })));
}
