/** The keys of the instance log and of its witnesses: those that the server names, or those that the reader trusts instead. */

import { parseDecimal } from '../../../../../sdk/typescript/src/transparency/decimal.ts';
import { checkPolicy } from '../../../../../sdk/typescript/src/transparency/judge-checkpoint.ts';
import {
  parseVerifierKey,
  signatureTypes,
  type VerifierKey,
} from '../../../../../sdk/typescript/src/transparency/verifier-key.ts';
import type { AuditWitnesses } from '../../../api/generated.ts';

export interface LogKeys {
  /** Of the log, and of the logs before it that the reader knows: each has another name. */
  readonly logs: readonly VerifierKey[];
  readonly witnesses: readonly VerifierKey[];
  readonly quorum: number;
}

export const noKeys: LogKeys = { logs: [], witnesses: [], quorum: 0 };

/** What the reader typed: one verifier key per line, as in the file AUDIT_WITNESSES, with or without a URL. */
export type ParsedKeys =
  | { readonly keys: LogKeys; readonly problem?: undefined }
  | { readonly keys?: undefined; readonly problem: string };

export function parseKeys(text: string): ParsedKeys {
  const logs: VerifierKey[] = [];
  const witnesses: VerifierKey[] = [];
  let quorum: number | undefined;
  for (const [at, line] of text.split('\n').entries()) {
    const [first, second] = line
      .replace(/(?:^|(?<=\s))#.*$/, '')
      .trim()
      .split(/\s+/);
    if (!first) continue;
    try {
      if (first === 'quorum') quorum = quorumOf(second);
      else {
        const key = parseKey(first);
        (key.type === signatureTypes.note ? logs : witnesses).push(key);
      }
    } catch (error) {
      return { problem: `Line ${at + 1}: ${(error as Error).message}.` };
    }
  }
  const keys = { logs, witnesses, quorum: quorum ?? witnesses.length };
  const problem = contradictionIn(keys);
  return problem === undefined ? { keys } : { problem };
}

/** The first byte of a key says what it signs. */
function parseKey(text: string): VerifierKey {
  try {
    return parseVerifierKey(text, signatureTypes.note);
  } catch {
    return parseVerifierKey(text, signatureTypes.cosignature);
  }
}

function quorumOf(text: string | undefined): number {
  const quorum = text === undefined ? undefined : parseDecimal(text);
  if (!quorum) throw new Error('the quorum is one number from 1: `quorum N`');
  return quorum;
}

function contradictionIn({ logs, witnesses, quorum }: LogKeys): string | undefined {
  if (new Set(logs.map(({ name }) => name)).size < logs.length) return 'Two keys of logs have the same name.';
  if (witnesses.length === 0) return quorum === 0 ? undefined : 'A quorum needs the keys of witnesses.';
  try {
    // Without a log of the reader, any other name and key will do.
    for (const logKey of logs.length > 0 ? logs : [placeholder]) checkPolicy({ logKey, witnesses, quorum });
    return undefined;
  } catch (error) {
    return `${(error as Error).message}.`;
  }
}

const placeholder: VerifierKey = {
  name: '',
  keyId: '',
  type: signatureTypes.note,
  publicKey: new Uint8Array(32),
};

/** The keys as GET /audit/witnesses names them. */
export const keysOf = ({ logKey, witnesses, quorum }: AuditWitnesses): LogKeys => ({
  logs: logKey === null ? [] : [parseVerifierKey(logKey, signatureTypes.note)],
  witnesses: witnesses.map(({ verifierKey }) => parseVerifierKey(verifierKey, signatureTypes.cosignature)),
  quorum: quorum ?? 0,
});

/** Who names the keys. */
export interface KeySources {
  readonly logs: 'server' | 'reader';
  readonly witnesses: 'server' | 'reader';
}

/** Those of the reader take the place of those of the server. */
export function chooseKeys(server: LogKeys, reader: LogKeys): LogKeys & { readonly sources: KeySources } {
  const logs = reader.logs.length > 0 ? 'reader' : 'server';
  const witnesses = reader.witnesses.length > 0 ? 'reader' : 'server';
  const from = { server, reader };
  const { witnesses: chosen, quorum } = from[witnesses];
  return { logs: from[logs].logs, witnesses: chosen, quorum, sources: { logs, witnesses } };
}
