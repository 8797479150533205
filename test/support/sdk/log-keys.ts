/** Keys of a log and of two witnesses, and signatures of a server, for the vectors. */
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { formatCheckpoint, parseCheckpoint } from '../../../sdk/typescript/src/transparency/checkpoint.ts';
import { cosign } from '../../../sdk/typescript/src/transparency/cosignature.ts';
import type { Signer as NoteSigner } from '../../../sdk/typescript/src/transparency/ed25519.ts';
import { formatNote, parseNote, withSignatures } from '../../../sdk/typescript/src/transparency/note.ts';
import { signNote } from '../../../sdk/typescript/src/transparency/sign-note.ts';
import {
  createVerifierKey,
  formatVerifierKey,
  type SignatureType,
  signatureTypes,
} from '../../../sdk/typescript/src/transparency/verifier-key.ts';
import type { LoggedExports } from './export-changes.ts';
import { cosignedAt, witnessNames } from './log-proof-cases.ts';

const publicBytes = (key: KeyObject) =>
  Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x ?? '', 'base64url');
const signerOf = (name: string, type: SignatureType, key: KeyObject): NoteSigner => ({
  key: createVerifierKey(name, type, publicBytes(key)),
  sign: (message) => sign(null, message, key),
});

export function logKeysOf(logKey: KeyObject): LoggedExports['log'] {
  const newKey = () => generateKeyPairSync('ed25519').privateKey;
  const name = 'id.example.com/log';
  const log = signerOf(name, signatureTypes.note, logKey);
  const witnesses = witnessNames.map((each) => signerOf(each, signatureTypes.cosignature, newKey()));
  const textOf = (signer: NoteSigner) => formatVerifierKey(signer.key);
  return {
    key: textOf(log),
    otherKey: textOf(signerOf(name, signatureTypes.note, newKey())),
    foreignKey: textOf(signerOf('other.example.com/log', signatureTypes.note, logKey)),
    witnesses: witnesses.map(textOf) as [string, string],
    async note(text, by, changes) {
      const { origin, size, root } = parseCheckpoint(parseNote(text).text);
      const body = formatCheckpoint({ origin, size, root, ...changes });
      const own = { text: body, signatures: [await signNote(body, log)] };
      const cosignatures = by.map((each) =>
        cosign(body, cosignedAt[each] as number, witnesses[each] as NoteSigner),
      );
      return formatNote(withSignatures(own, await Promise.all(cosignatures)));
    },
  };
}

export const resignedBy =
  (privatePem: string): LoggedExports['resigned'] =>
  (signed, claims) => {
    const [header, payload] = signed.split('.', 2) as [string, string];
    const changed = { ...JSON.parse(`${Buffer.from(payload, 'base64url')}`), ...claims };
    const text = `${header}.${Buffer.from(JSON.stringify(changed)).toString('base64url')}`;
    const key = { key: privatePem, dsaEncoding: 'ieee-p1363' } as const;
    return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
  };
