/** The keys that `countersign audit verify` trusts, from options: keys as texts, or files with them. */
import { readFileSync } from 'node:fs';
import type { PublicKey } from '../../../sdk/typescript/src/audit/statements.ts';
import { TransparencyError } from '../../../sdk/typescript/src/transparency/errors.ts';
import type { CheckpointPolicy } from '../../../sdk/typescript/src/transparency/judge-checkpoint.ts';
import { type LogTrust, readLogTrust } from '../../../sdk/typescript/src/transparency/log-trust.ts';
import { formatVerifierKey } from '../../../sdk/typescript/src/transparency/verifier-key.ts';
import { parseWitnessPolicy } from '../../../sdk/typescript/src/transparency/witness-policy.ts';
import { CommandError } from '../command-error.ts';
import { quoted } from '../terminal.ts';

export interface TrustOptions {
  readonly logKey?: string;
  readonly witness?: readonly string[];
  readonly quorum?: string;
  readonly logCheckpoint?: string;
  readonly logUrl?: string;
}

/** Undefined without options of the log. */
export function readTrust(options: TrustOptions): CheckpointPolicy | undefined {
  const { logKey, witness = [], quorum } = options;
  if (logKey === undefined) {
    const [other] = (['witness', 'quorum', 'logCheckpoint', 'logUrl'] as const).filter(
      (name) => options[name] !== undefined,
    );
    if (other === undefined) return undefined;
    throw new CommandError(
      `${optionNames[other]} needs --log-key: the verifier key of the log, as GET /log/key of the instance answered it`,
    );
  }
  if (quorum !== undefined && (witness.length === 0 || !/^[1-9]\d?$/.test(quorum)))
    throw new CommandError('--quorum is a number from 1 to the number of witnesses, which --witness names');
  const named = witness.map(readWitnesses);
  return policyOf({
    key: textOrFile(logKey, '--log-key'),
    witnesses: named.flatMap(({ keys }) => keys),
    quorum: quorum === undefined ? onlyQuorum(named) : Number(quorum),
  });
}

const optionNames = {
  witness: '--witness',
  quorum: '--quorum',
  logCheckpoint: '--log-checkpoint',
  logUrl: '--log-url',
} as const;

function policyOf(trust: LogTrust): CheckpointPolicy {
  try {
    return readLogTrust(trust);
  } catch (error) {
    if (!(error instanceof TransparencyError) && !(error instanceof TypeError)) throw error;
    throw new CommandError(`--log-key, --witness and --quorum: ${quoted(error.message)}`);
  }
}

const keyText = /^[^\s+]+\+[0-9a-f]{8}\+\S+$/;

const textOrFile = (value: string, option: string): string =>
  keyText.test(value) ? value : readText(value, `${option} is neither a verifier key nor a file with one`);

function readText(file: string, problem: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new CommandError(`${problem}: ${(error as Error).message}`);
  }
}

export function readNoteFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`cannot read the checkpoint of the log: ${(error as Error).message}`);
  }
}

interface NamedWitnesses {
  readonly keys: readonly string[];
  /** Of a file in the form of AUDIT_WITNESSES. */
  readonly quorum?: number;
}

/** A key, a file with a key in each line, or the file AUDIT_WITNESSES of an instance. */
function readWitnesses(value: string): NamedWitnesses {
  const text = textOrFile(value, '--witness');
  if (/^quorum\b/m.test(text)) {
    const { policy, problems } = parseWitnessPolicy(text);
    if (problems) throw new CommandError(`--witness ${quoted(value)}: ${quoted(problems.join('; '))}`);
    return { keys: policy.witnesses.map(({ key }) => formatVerifierKey(key)), quorum: policy.quorum };
  }
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  return { keys: lines.filter((line) => line !== '' && !line.startsWith('#')) };
}

/** Keys of two sources have no common quorum: then all witnesses are needed. */
const onlyQuorum = (named: readonly NamedWitnesses[]): number | undefined =>
  named.length === 1 ? named[0]?.quorum : undefined;

/** The public keys of the instance, as `/.well-known/jwks.json` answered them. */
export function readJwks(file: string): readonly PublicKey[] {
  const text = readText(file, 'cannot read the keys of --keys');
  try {
    const { keys } = JSON.parse(text);
    if (keys.length > 0 && keys.every((key: PublicKey | null) => typeof key?.kid === 'string')) return keys;
  } catch {
    // Not JSON, or without keys.
  }
  throw new CommandError(
    `${file} is not a key set: it must hold the JSON that /.well-known/jwks.json of the instance answered, with a kid in each key`,
  );
}
