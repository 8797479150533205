/**
 * The file AUDIT_WITNESSES: a line `verifier-key url` for each witness, and a line `quorum N`. A text from `#` to the end of its
 * line is a comment.
 */
import { parseDecimal } from './decimal.ts';
import { isSamePublicKey, parseVerifierKey, signatureTypes, type VerifierKey } from './verifier-key.ts';
import { parseWitnessUrl } from './witness-url.ts';

/** A checkpoint has at most 100 signatures, one of them the log's. */
export const maxWitnesses = 64;
const maxFileLength = 64 * 1024;

export interface Witness {
  readonly key: VerifierKey;
  /** Without a slash at its end: `/add-checkpoint` follows. */
  readonly url: string;
}

export interface WitnessPolicy {
  readonly witnesses: readonly Witness[];
  readonly quorum: number;
}

/** Either the policy, or each problem as a sentence that begins with its line. */
export type ParsedWitnessPolicy =
  | { readonly policy: WitnessPolicy; readonly problems?: undefined }
  | { readonly policy?: undefined; readonly problems: readonly string[] };

export function parseWitnessPolicy(file: string): ParsedWitnessPolicy {
  if (file.length > maxFileLength)
    return { problems: [`the file has more than ${maxFileLength} characters`] };
  const problems: string[] = [];
  const witnesses: (Witness & { readonly line: number })[] = [];
  const quorums: { readonly line: number; readonly quorum: number | undefined }[] = [];

  for (const { line, fields } of linesOf(file))
    try {
      if (fields[0] === 'quorum') quorums.push({ line, quorum: quorumOf(fields) });
      else witnesses.push({ line, ...witnessOf(fields, witnesses) });
    } catch (error) {
      problems.push(`line ${line}: ${(error as Error).message}`);
      if (fields[0] === 'quorum') quorums.push({ line, quorum: undefined });
    }

  if (witnesses.length > maxWitnesses)
    problems.push(`line ${witnesses[maxWitnesses]?.line}: more than ${maxWitnesses} witnesses`);
  for (const { line } of quorums.slice(1)) problems.push(`line ${line}: a second quorum`);
  const [first] = quorums;
  if (!first) problems.push(`line ${file.split('\n').length}: the file ends without a line \`quorum N\``);
  const quorum = first?.quorum ?? 1;
  // A witness with a problem is not counted, which would make this a second problem of its line.
  if (first && quorum > witnesses.length && problems.length === 0)
    problems.push(
      `line ${first.line}: the quorum is ${quorum}, but there ${witnesses.length === 1 ? 'is 1 witness' : `are ${witnesses.length} witnesses`}`,
    );
  if (problems.length > 0) return { problems };
  return { policy: { witnesses: witnesses.map(({ key, url }) => ({ key, url })), quorum } };
}

function linesOf(file: string): readonly { readonly line: number; readonly fields: readonly string[] }[] {
  return file
    .split(/\r?\n/)
    .map((text, at) => ({ line: at + 1, fields: fieldsOf(text) }))
    .filter(({ fields }) => fields.length > 0);
}

/** A `#` within a field is a part of it. */
const fieldsOf = (text: string): readonly string[] =>
  text
    .replace(/(?:^|(?<=[ \t]))#.*$/s, '')
    .split(/[ \t]+/)
    .filter((field) => field !== '');

function quorumOf([, count, ...more]: readonly string[]): number {
  const quorum = count === undefined || more.length > 0 ? undefined : parseDecimal(count);
  if (quorum === undefined || quorum < 1) throw new Error('the quorum is one number from 1: `quorum N`');
  return quorum;
}

function witnessOf(
  [keyText, urlText, ...more]: readonly string[],
  earlier: readonly (Witness & { readonly line: number })[],
): Witness {
  if (keyText === undefined || urlText === undefined || more.length > 0)
    throw new Error('a line has a verifier key and a URL, or is `quorum N`');
  const key = parseVerifierKey(keyText, signatureTypes.cosignature);
  const url = parseWitnessUrl(urlText);
  for (const { key: other, url: otherUrl, line } of earlier) {
    if (other.name === key.name) throw new Error(`the name is that of the witness in line ${line}`);
    if (isSamePublicKey(other, key)) throw new Error(`the key is that of the witness in line ${line}`);
    if (otherUrl === url) throw new Error(`the URL is that of the witness in line ${line}`);
  }
  return { key, url };
}
