/** Programs of transparency-dev: a witness, and a checker of logs. scripts/transparency-tools-for-tests.sh compiles them. */
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  createVerifierKey,
  formatVerifierKey,
  signatureTypes,
} from '../../../sdk/typescript/src/transparency/verifier-key.ts';
import { succeed } from '../child-process.ts';
import { findProgram, freePort, startProgram, until } from '../programs.ts';
import { folder, type TestWitness } from './witnesses.ts';

/** Raise the number in the script, too, when a version changes there. */
const toolsFolder = (): string =>
  process.env.TRANSPARENCY_TOOLS_FOR_TESTS ||
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'countersign/transparency-tools-1');

/** Not from PATH: Linux has another fsck. */
const pathOf = (name: string): string => join(toolsFolder(), name);

export const toolsAreNeeded = 'go and programs of transparency-dev (scripts/transparency-tools-for-tests.sh)';
export const hasTransparencyTools = (): boolean =>
  existsSync(pathOf('complete')) && findProgram('go') !== undefined;

export interface Omniwitness extends TestWitness {
  readonly verifierKey: string;
  output(): string;
  stop(): Promise<void>;
  /** With its database. */
  restart(): Promise<void>;
}

/** The witness, for these logs. It stops with the test file. */
export async function startOmniwitness(
  name: string,
  logs: readonly { readonly origin: string; readonly verifierKey: string }[],
): Promise<Omniwitness> {
  const port = await freePort();
  const own = join(folder, `omniwitness-${port}`);
  mkdirSync(own);
  const { privateKey, verifierKey } = newWitnessKey(name);
  writeFileSync(join(own, 'key'), privateKey, { mode: 0o600 });
  const entries = logs.map(({ origin, verifierKey: key }) => ({ Origin: origin, PublicKey: key }));
  // JSON is YAML.
  writeFileSync(join(own, 'logs.yaml'), JSON.stringify({ Logs: entries }));
  const start = async () => {
    const args = ['--private_key_path=key', '--additional_logs=logs.yaml', '--db_file=witness.db'];
    const listen = [`--listen=127.0.0.1:${port}`, '--metrics_listen='];
    const started = startProgram(pathOf('omniwitness'), [...args, ...listen], {
      env: { HOME: own },
      cwd: own,
    });
    const answers = async () => (await fetch(url)).status === 404 || undefined;
    await until('the witness listens', answers, started);
    return started;
  };
  const url = `http://127.0.0.1:${port}`;
  let program = await start();
  let before = '';
  const stop = async () => {
    before += program.output();
    program.kill('SIGTERM');
    await program.gone();
  };
  after(stop);
  return {
    name,
    verifierKey,
    line: `${verifierKey} ${url}`,
    output: () => before + program.output(),
    stop,
    async restart() {
      program = await start();
    },
  };
}

/** A private key as golang.org/x/mod/sumdb/note writes it; its id is that of a log. */
function newWitnessKey(name: string) {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const publicKey = Buffer.from(x, 'base64url');
  const { keyId } = createVerifierKey(name, signatureTypes.note, publicKey);
  const seed = Buffer.concat([Buffer.of(signatureTypes.note), Buffer.from(d, 'base64url')]);
  return {
    privateKey: `PRIVATE+KEY+${name}+${keyId}+${seed.toString('base64')}`,
    verifierKey: formatVerifierKey(createVerifierKey(name, signatureTypes.cosignature, publicKey)),
  };
}

/** What fsck says of the log at this address: it reads checkpoint, tiles and entries, and computes the root from the entries. */
export async function checkLog(url: string, verifierKey: string): Promise<string> {
  const key = join(folder, `log-key-${new URL(url).port}`);
  writeFileSync(key, verifierKey);
  const program = startProgram(
    pathOf('fsck'),
    [`--storage_url=${url}`, `--public_key=${key}`, '--ui=false'],
    {
      cwd: folder,
    },
  );
  await program.gone();
  return program.output();
}

const goModule = fileURLToPath(new URL('../../../sdk/typescript/test/transparency/go', import.meta.url));

/** What golang.org/x/mod and transparency-dev/formats read at this address: a checkpoint with exactly these signatures. */
export async function openWithGo(url: string, logKey: string, witnessKeys: readonly string[]) {
  const text = await succeed('go', ['run', '.', 'open', url, logKey, ...witnessKeys], {
    cwd: goModule,
    timeout: 300_000,
  });
  const [origin, size, root, ...times] = text.trim().split('\n');
  return { origin, size: Number(size), root, times };
}
