/** The file AUDIT_WITNESSES, checked at start: its form, and that no witness is the log itself. */
import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  parseWitnessPolicy,
  type Witness,
  type WitnessPolicy,
} from '../../../sdk/typescript/src/transparency/witness-policy.ts';
import type { Config } from './config.ts';
import { SeveralProblems } from './variable-kinds.ts';

export interface WitnessFile extends WitnessPolicy {
  readonly file: string;
}

export function witnessFile(path: string): WitnessFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(
      `must be a file that can be read, not "${path}" (${(error as NodeJS.ErrnoException).code})`,
    );
  }
  const { policy, problems } = parseWitnessPolicy(text);
  if (policy) return { ...policy, file: path };
  throw new SeveralProblems(problems.map((problem) => `${path}: ${problem}`));
}

/** Rules on the file that need other variables. */
export function witnessProblems(
  values: Pick<Config, 'auditWitnesses' | 'auditLogKey' | 'webhookAllowPrivateTargets'> & {
    readonly baseUrl?: string | undefined;
  },
): readonly string[] {
  const { auditWitnesses, auditLogKey, baseUrl, webhookAllowPrivateTargets } = values;
  if (!auditWitnesses) return [];
  const { x: logKey } = auditLogKey ? createPublicKey(auditLogKey).export({ format: 'jwk' }) : {};
  const origin = baseUrl && `${new URL(baseUrl).host}/log`;
  const problemsOf = ({ key, url }: Witness): readonly (string | false)[] => [
    Buffer.from(key.publicKey).toString('base64url') === logKey &&
      'has the key of AUDIT_LOG_KEY: a log does not witness itself',
    origin !== undefined &&
      (key.name === origin || key.name.startsWith(`${origin}-`)) &&
      'has the name of the instance log: a witness has a name of its own',
    !url.startsWith('https:') &&
      !webhookAllowPrivateTargets &&
      'has a URL with http; use https, or set WEBHOOK_ALLOW_PRIVATE_TARGETS=true for witnesses in your own network',
  ];
  return auditWitnesses.witnesses.flatMap((witness) =>
    problemsOf(witness)
      .filter((problem) => problem !== false)
      .map((problem) => `AUDIT_WITNESSES ${auditWitnesses.file}: the witness ${witness.key.name} ${problem}`),
  );
}
