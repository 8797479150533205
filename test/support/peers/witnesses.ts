/** Witnesses of the instance log: `countersign witness` in this process, and one that answers as a test wants. */
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { parseAddCheckpoint } from '../../../sdk/typescript/src/transparency/add-checkpoint.ts';
import { cosign } from '../../../sdk/typescript/src/transparency/cosignature.ts';
import { formatSignatureLines } from '../../../sdk/typescript/src/transparency/note.ts';
import {
  createVerifierKey,
  formatVerifierKey,
  signatureTypes,
} from '../../../sdk/typescript/src/transparency/verifier-key.ts';
import { signerOf } from '../../../src/features/instance-log/log-key.ts';
import { startInProcess } from '../commands-in-process.ts';
import { freePort, until } from '../programs.ts';
import { type RequestHandler, startReceiver } from './receivers.ts';

export const newLogKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** The verifier key of the log that begins with this key. */
export const verifierKeyOf = (logKey: string, origin = 'countersign.test/log'): string =>
  signerOf(origin, createPrivateKey(logKey)).verifierKey;

export interface TestWitness {
  readonly name: string;
  /** Of the file AUDIT_WITNESSES. */
  readonly line: string;
}

/** AUDIT_WITNESSES, and what else a log needs to reach them. */
export function witnessVariables(witnesses: readonly TestWitness[], quorum: number): Record<string, string> {
  files += 1;
  const file = join(folder, `witnesses-${files}`);
  writeFileSync(file, [...witnesses.map(({ line }) => line), `quorum ${quorum}\n`].join('\n'));
  return {
    AUDIT_WITNESSES: file,
    AUDIT_WITNESS_INTERVAL: '1',
    WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
  };
}

/** One for all: commands of one process that run at the same time share their folder. */
export const folder = mkdtempSync(join(tmpdir(), 'countersign-witnesses-'));
// Several test files may share this process.
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** `countersign witness` for these logs. It can be stopped, and started again with its state. */
export async function startWitness(name: string, logs: readonly string[]) {
  const port = await freePort();
  const [state, key] = [`state-${port}`, `key-${port}`];
  const args = [
    ...['witness', '--port', String(port), '--state', state, '--key', key, '--name', name],
    ...logs.flatMap((log) => ['--log', log]),
  ];
  const start = async () => {
    const command = startInProcess(args, { env: {}, cwd: folder });
    await until('the witness listens', async () => command.stderr().includes('cosigning') || undefined);
    return command;
  };
  let command = await start();
  let isRunning = true;
  const stop = async () => {
    if (!isRunning) return;
    isRunning = false;
    command.kill('SIGTERM');
    await command.gone();
  };
  after(stop);
  const url = `http://127.0.0.1:${port}`;
  return {
    name,
    url,
    line: `${command.stdout().trim()} ${url}`,
    output: () => command.output(),
    stop,
    async restart() {
      command = await start();
      isRunning = true;
    },
  };
}

/** A key of a witness. */
export function createCosigner(name: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const key = createVerifierKey(name, signatureTypes.cosignature, Buffer.from(x, 'base64url'));
  return { key, sign: (message: Uint8Array) => sign(null, message, privateKey) };
}
export type Cosigner = ReturnType<typeof createCosigner>;

/** What `countersign witness` answers to a checkpoint, without its checks. */
export async function cosignBody(
  body: string,
  signer: Cosigner,
  { time = Math.floor(Date.now() / 1_000), change = (text: string) => text } = {},
): Promise<string> {
  const { note } = parseAddCheckpoint(body);
  return formatSignatureLines([await cosign(change(note.text), time, signer)]);
}

/** A witness that answers as the test wants; `answer` can be changed. */
export async function startFakeWitness(name: string, handler: (signer: Cosigner) => RequestHandler) {
  const signer = createCosigner(name);
  let answer = handler(signer);
  const receiver = await startReceiver((...request) => answer(...request), { tls: false });
  return {
    name,
    signer,
    line: `${formatVerifierKey(signer.key)} ${receiver.url}`,
    received: receiver.received,
    answerWith(other: (signer: Cosigner) => RequestHandler) {
      answer = other(signer);
    },
  };
}
