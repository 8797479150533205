/**
 * What is signed: checkpoints (the head of a chain), keys (who signed before), anchors (what retention dropped), exports
 * (which chains are in the file), seals that are shared between keys. Each is a compact JWS with a type of its own.
 * Checkpoints, keys and anchors are known by the hash of their text, and name the one before.
 */
import type { Claims, PublicKey, ReadStatement, Signer } from '../../../kernel/ports/signer.ts';
import { hashText } from './hashes.ts';

export const types = {
  checkpoint: 'audit-checkpoint+jwt',
  key: 'audit-key+jwt',
  anchor: 'audit-anchor+jwt',
  export: 'audit-export+jwt',
  sharedSeal: 'audit-seal+jwt',
} as const;

export interface Checkpoint {
  readonly organizationId: string;
  /** 1, 2, … in each organization. */
  readonly number: number;
  /** The sequence of the newest link that it covers. */
  readonly size: number;
  readonly head: string;
  readonly at: string;
  /** The hash of the checkpoint before; null in the first. */
  readonly previous: string | null;
}

/** The current key says who it is and who came before. */
export interface KeyStatement {
  readonly number: number;
  readonly key: PublicKey;
  readonly at: string;
  readonly previous: { readonly hash: string; readonly key: PublicKey } | null;
  /** The ids of the keys whose seals this one could check when it joined. Absent in statements of earlier versions. */
  readonly sealsOf?: readonly string[];
}

/** Events up to and including a day are gone, and links and checkpoints up to and including a checkpoint. */
export interface Anchor {
  readonly organizationId: string;
  readonly number: number;
  readonly at: string;
  readonly droppedThrough: string;
  /** The last checkpoint that was dropped: the chain goes on from there. Zero and the first hash when none was. */
  readonly checkpoint: {
    readonly number: number;
    readonly size: number;
    readonly head: string;
    readonly hash: string | null;
  };
}

/** What an export holds; contents.ts says how it is added up. */
export interface ExportStatement {
  /** When it was begun: what had been linked by then is in it. */
  readonly at: string;
  /** The one organization that was asked for; null when it is of all, so that one cannot pass for the other. */
  readonly organizationId: string | null;
  readonly chains: number;
  readonly events: number;
  /** The hash over all chains. */
  readonly contents: string;
}

/** The signing key lets the recipient check its seals. */
export interface SharedSeal {
  /** The id of the key that can open it. */
  readonly recipient: string;
  readonly at: string;
  /** The seal key as a JWE. */
  readonly sealKey: string;
}

interface Kinds {
  readonly checkpoint: Checkpoint;
  readonly key: KeyStatement;
  readonly anchor: Anchor;
  readonly export: ExportStatement;
  readonly sharedSeal: SharedSeal;
}

export const statementHash = hashText;

export const sign = <K extends keyof Kinds>(signer: Signer, kind: K, claims: Kinds[K]): Promise<string> =>
  signer.sign(claims as unknown as Claims, types[kind]);

/** Undefined unless one of these keys has signed it. */
export const readSigned = async <K extends keyof Kinds>(
  read: ReadStatement,
  kind: K,
  text: string,
  keys: readonly PublicKey[],
): Promise<Kinds[K] | undefined> => (await read(text, types[kind], keys)) as unknown as Kinds[K] | undefined;

/** What a statement claims, for one whose hash is vouched for by a signed successor. */
export function claimed<K extends keyof Kinds>(_kind: K, text: string): Kinds[K] | undefined {
  try {
    const claims = JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString());
    return typeof claims === 'object' && claims !== null ? claims : undefined;
  } catch {
    return undefined;
  }
}

export function keyIdOf(text: string): string | undefined {
  try {
    return JSON.parse(Buffer.from(text.split('.')[0] ?? '', 'base64url').toString()).kid;
  } catch {
    return undefined;
  }
}
