/** `countersign witness`: cosigns the checkpoints of other instances' logs, so that none of them can show two histories. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { TransparencyError } from '../../../sdk/typescript/src/transparency/errors.ts';
import {
  createVerifierKey,
  formatVerifierKey,
  parseVerifierKey,
  signatureTypes,
  type VerifierKey,
} from '../../../sdk/typescript/src/transparency/verifier-key.ts';
import { CommandError } from '../command-error.ts';
import type { Io } from '../io.ts';
import { oneLine, print, printError, quoted } from '../terminal.ts';
import { createAddCheckpoint } from './add-checkpoint.ts';
import { createWitnessServer } from './server.ts';
import { openStateFile } from './state-file.ts';

export interface WitnessOptions {
  readonly port: string;
  readonly host: string;
  readonly state: string;
  readonly key: string;
  readonly name: string;
  readonly log: readonly string[];
}

export async function witness(io: Io, options: WitnessOptions): Promise<void> {
  const port = readPort(options.port);
  const logs = options.log.map(readLogKey);
  const privateKey = readKey(io, options.key);
  const key = verifierKeyOf(options.name, privateKey);
  const state = openStateFile(options.state);
  try {
    const verifierKey = formatVerifierKey(key);
    const server = createWitnessServer({
      addCheckpoint: createAddCheckpoint({
        logs,
        signer: { key, sign: (message) => sign(null, message, privateKey) },
        state,
        now: () => Math.floor(Date.now() / 1_000),
      }),
      about: `${verifierKey}\n`,
      log: (line) => printError(io, `${new Date().toISOString()} ${oneLine(line)}`),
    });
    await listen(server.listen({ host: options.host, port }), options);
    const { address, port: chosen, family } = server.address() as AddressInfo;
    print(io, verifierKey);
    printError(
      io,
      `cosigning ${logs.map(({ name }) => name).join(', ')} on http://${family === 'IPv6' ? `[${address}]` : address}:${chosen}/add-checkpoint`,
    );
    await new Promise<void>((resolve) => {
      const ignore = io.onSignal(() => {
        ignore();
        resolve();
      });
    });
    server.close();
    server.closeIdleConnections();
    await once(server, 'close');
  } finally {
    state.close();
  }
}

async function listen(server: ReturnType<typeof createWitnessServer>, { host, port }: WitnessOptions) {
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new CommandError(`cannot listen on ${quoted(host)} port ${port}: ${(error as Error).message}`);
  }
}

function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new CommandError(`--port must be a number from 0 to 65535, not ${quoted(text)}`);
  return port;
}

function readLogKey(text: string): VerifierKey {
  try {
    return parseVerifierKey(text, signatureTypes.note);
  } catch (error) {
    if (!(error instanceof TransparencyError)) throw error;
    throw new CommandError(
      `--log ${quoted(text)}: ${error.message}. GET /log/key of the instance has its verifier key`,
    );
  }
}

function verifierKeyOf(name: string, privateKey: KeyObject): VerifierKey {
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  try {
    return createVerifierKey(name, signatureTypes.cosignature, Buffer.from(x, 'base64url'));
  } catch (error) {
    if (!(error instanceof TransparencyError)) throw error;
    throw new CommandError(`--name ${quoted(name)}: ${error.message}`);
  }
}

/** Made when it is missing, and readable by its owner alone. */
function readKey(io: Io, file: string): KeyObject {
  let pem: string;
  try {
    pem = readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw new CommandError(`cannot read the key ${file}: ${message}`);
    return makeKey(io, file);
  }
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Not PEM.
  }
  throw new CommandError(
    `${file} has no private key of Ed25519 (PKCS#8 PEM): countersign keys --kind ed25519 makes one`,
  );
}

function makeKey(io: Io, file: string): KeyObject {
  const { privateKey } = generateKeyPairSync('ed25519');
  try {
    writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw new CommandError(`cannot write the key ${file}: ${(error as Error).message}`);
  }
  printError(io, `made a new key in ${file}: keep it, the logs know the witness by it`);
  return privateKey;
}
