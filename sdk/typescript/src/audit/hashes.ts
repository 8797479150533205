/** The hashes of the audit chain: SHA-256, written as lower-case hexadecimal. The server's decisions 006 and 014 have the formulas. */

const encoder = new TextEncoder();
const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export const sha256 = (text: string): Promise<string> => digest(encoder.encode(text));

async function digest(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  let text = '';
  for (const byte of hash) text += digits[byte];
  return text;
}

/** The part of an event that is hashed. */
export interface EventText {
  readonly canonical: string;
  readonly appendedIn: string;
  readonly seal: string;
}

/** The previous hash of a chain's first link. */
export const firstHash = (organizationId: string): Promise<string> =>
  sha256(`countersign audit chain of ${organizationId}`);

export const eventHash = ({ appendedIn, seal, canonical }: EventText): Promise<string> =>
  sha256(`${appendedIn} ${seal} ${canonical}`);

export interface LinkFields {
  readonly sequence: number;
  readonly eventId: string;
  /** With microseconds. */
  readonly time: string;
  readonly eventHash: string;
}

/** Sequence (16 digits), event id (32), microseconds since 2000 (16), hash of the event (64). */
export const linkHash = (
  previous: string,
  { sequence, eventId, time, eventHash }: LinkFields,
): Promise<string> =>
  sha256(
    previous + hex(sequence) + eventId.replaceAll('-', '') + hex(microsecondsSince2000(time)) + eventHash,
  );

const year2000 = Date.UTC(2000, 0, 1);
const hex = (number: number): string => number.toString(16).padStart(16, '0');
const microsecondsSince2000 = (time: string): number =>
  (Date.parse(`${time.slice(0, 23)}Z`) - year2000) * 1000 + Number(time.slice(23, 26));

/** The hash of a leaf of a Merkle tree (RFC 9162 §2.1). */
export const leafHash = (text: string): Promise<string> => {
  const bytes = encoder.encode(text);
  const leaf = new Uint8Array(bytes.length + 1);
  leaf.set(bytes, 1);
  return digest(leaf);
};

function nodeHash(left: string, right: string): Promise<string> {
  const node = new Uint8Array(65);
  node[0] = 1;
  for (let at = 0; at < 64; at += 1)
    node[at + 1] = Number.parseInt((left + right).slice(at * 2, at * 2 + 2), 16);
  return digest(node);
}

export interface Proof {
  readonly leafIndex: number;
  readonly treeSize: number;
  readonly proof: readonly string[];
}

/** The root that an inclusion proof leads to (RFC 9162 §2.1.3.2); undefined when it does not fit the tree. */
export async function rootFrom(
  leaf: string,
  { leafIndex, treeSize, proof }: Proof,
): Promise<string | undefined> {
  if (!Number.isInteger(leafIndex) || leafIndex < 0 || leafIndex >= treeSize) return undefined;
  let index = leafIndex;
  let last = treeSize - 1;
  let root = leaf;
  for (const sibling of proof) {
    if (last === 0 || !/^[0-9a-f]{64}$/.test(sibling)) return undefined;
    if (index % 2 === 1 || index === last) {
      root = await nodeHash(sibling, root);
      // Levels on which the node had no sibling.
      while (index % 2 === 0 && index > 0) {
        index = Math.floor(index / 2);
        last = Math.floor(last / 2);
      }
    } else root = await nodeHash(root, sibling);
    index = Math.floor(index / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 ? root : undefined;
}
