/**
 * The signed statements: tree heads (all checkpoints of a pass), keys (which key signed before), anchors (what retention
 * dropped), exports (which chains are in the file), archived days (which file has them), and seals that keys share. Each is a compact JWS with its own `typ`.
 * Earlier versions signed each checkpoint (the head of a chain). A checkpoint, tree head or key statement names the hash of
 * the one before it.
 */
import { parsePart } from './compact-jws.ts';
import { leafHash } from './merkle.ts';
import { sha256 } from './sha256.ts';

export type Claims = Readonly<Record<string, unknown>>;

/** A public key as a JWK. */
export type PublicKey = Claims & { readonly kid: string };

/** The claims of a statement of that `typ` that one of these keys has signed; otherwise undefined. */
export type ReadStatement = (
  statement: string,
  typ: string,
  keys: readonly PublicKey[],
) => Promise<Claims | undefined>;

export const statementTypes = {
  checkpoint: 'audit-checkpoint+jwt',
  treeHead: 'audit-tree-head+jwt',
  key: 'audit-key+jwt',
  anchor: 'audit-anchor+jwt',
  export: 'audit-export+jwt',
  archive: 'audit-archive+jwt',
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
  /** The hash of the checkpoint before (see `checkpointHash`); null in the first. */
  readonly previous: string | null;
}

/** All checkpoints of a pass. */
export interface TreeHead {
  readonly number: number;
  readonly at: string;
  /** How many checkpoints are the leaves. */
  readonly size: number;
  readonly root: string;
  /** The hash of the text of the tree head before; null in the first. */
  readonly previous: string | null;
}

/** A tree head as stored. */
export interface TreeHeadRow extends TreeHead {
  readonly keyId: string;
  readonly signed: string;
}

/** The place of a checkpoint in the tree of its tree head. */
export interface Inclusion {
  /** The number of the tree head. */
  readonly treeHead: number;
  readonly treeSize: number;
  readonly leafIndex: number;
  readonly proof: readonly string[];
}

/** The current signing key and the one before it. */
export interface KeyStatement {
  readonly number: number;
  readonly key: PublicKey;
  readonly at: string;
  readonly previous: { readonly hash: string; readonly key: PublicKey } | null;
  /** The ids of the keys whose seals this one could check when it joined. Absent in statements of earlier versions. */
  readonly sealsOf?: readonly string[];
}

/** A checkpoint as stored. */
export interface CheckpointRow extends Checkpoint {
  readonly keyId: string;
  /** The signed text: of the tree head that covers it, or, without an inclusion, of the checkpoint itself. */
  readonly signed: string;
  readonly inclusion?: Inclusion | null;
}

/** An anchor as stored. */
export interface AnchorRow {
  readonly number: number;
  readonly at: string;
  readonly signed: string;
}

/** Retention dropped the events through a day, and the links and checkpoints through a checkpoint. */
export interface Anchor {
  readonly organizationId: string;
  readonly number: number;
  readonly at: string;
  readonly droppedThrough: string;
  /**
   * The highest number of a tree head, of all organizations, that retention has dropped; 0 before the first. Absent in anchors of
   * earlier versions.
   */
  readonly droppedTreeHead?: number;
  /** The last dropped checkpoint: the chain continues from it. Zero and the first hash when none was dropped. */
  readonly checkpoint: {
    readonly number: number;
    readonly size: number;
    readonly head: string;
    readonly hash: string | null;
  };
}

/** The manifest of an export; manifest.ts computes it. */
export interface ExportStatement {
  /** When the export began: all events linked by then are in it. */
  readonly at: string;
  /** The only organization of the export; null when it has all, so that one cannot be presented as the other. */
  readonly organizationId: string | null;
  /** The only day (`linkedOn`) of the export; absent or null when it has all, so that one day cannot be presented as another. */
  readonly day?: string | null;
  readonly chains: number;
  readonly events: number;
  /** The hash over all chains. */
  readonly contents: string;
}

/** A file of the archive: the day of an organization. Its manifest has the same fields. */
export interface ArchiveStatement {
  readonly organizationId: string;
  /** YYYY-MM-DD: that of its checkpoints (`linkedOn`), in UTC. */
  readonly date: string;
  readonly events: number;
  /** Of the compressed file. */
  readonly bytes: number;
  readonly sha256: string;
  /** The hash of the last link of the day. */
  readonly chainHead: string;
  readonly createdAt: string;
}

/** With this the recipient can check the seals of the signing key. */
export interface SharedSeal {
  /** The id of the key that can open it. */
  readonly recipient: string;
  readonly at: string;
  /** The seal key as a JWE. */
  readonly sealKey: string;
}

export interface Statements {
  readonly checkpoint: Checkpoint;
  readonly treeHead: TreeHead;
  readonly key: KeyStatement;
  readonly anchor: Anchor;
  readonly export: ExportStatement;
  readonly archive: ArchiveStatement;
  readonly sharedSeal: SharedSeal;
}

export const statementHash = sha256;

/** The leaf of a checkpoint in a tree: canonical JSON (RFC 8785). */
export const checkpointText = ({ at, head, number, organizationId, previous, size }: Checkpoint): string =>
  JSON.stringify({ at, head, number, organizationId, previous, size });

/** The next checkpoint names it as `previous`. */
export const checkpointHash = (row: CheckpointRow): string =>
  row.inclusion ? leafHash(checkpointText(row)) : statementHash(row.signed);

/** The same for an entry of GET /audit/checkpoints. */
export const entryHash = ({ signed, inclusion }: CheckpointEntry): string =>
  inclusion ? leafHash(inclusion.checkpoint) : statementHash(signed);

export interface CheckpointEntry {
  readonly signed: string;
  readonly inclusion?: { readonly checkpoint: string } | null | undefined;
}

/** Undefined unless one of these keys has signed it. */
export const readSigned = async <K extends keyof Statements>(
  read: ReadStatement,
  kind: K,
  text: string,
  keys: readonly PublicKey[],
): Promise<Statements[K] | undefined> =>
  (await read(text, statementTypes[kind], keys)) as unknown as Statements[K] | undefined;

/** The claims without a check of the signature: for a statement whose hash a signed successor names. */
export const unverifiedClaims = <K extends keyof Statements>(
  _kind: K,
  text: string,
): Statements[K] | undefined => parsePart(text, 1) as Statements[K] | undefined;

export const keyIdOf = (text: string): string | undefined => parsePart(text, 0)?.kid as string | undefined;
