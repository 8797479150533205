/** The signed statements of the audit log: each is a compact JWS with its own `typ`. Trust goes back from key to key. */
import { base64url, type CryptoKey, compactVerify, importJWK, type JWK } from 'jose';
import { leafHash, sha256 } from './hashes.ts';
import type { CheckpointLine, KeyLine } from './lines.ts';

/** The signed part of a checkpoint. */
export type Checkpoint = Pick<
  CheckpointLine,
  'organizationId' | 'number' | 'size' | 'head' | 'at' | 'previous'
>;

/** All checkpoints of one moment are the leaves of a tree. */
export interface TreeHead {
  readonly number: number;
  readonly at: string;
  readonly size: number;
  readonly root: string;
}

/** Retention dropped the events through a day, and the links through a checkpoint. */
export interface Anchor {
  readonly organizationId: string;
  readonly number: number;
  readonly at: string;
  readonly droppedThrough: string;
  readonly checkpoint: {
    readonly number: number;
    readonly size: number;
    readonly head: string;
    readonly hash: string | null;
  };
}

/** The signed end of an export. */
export interface ExportStatement {
  /** When the export began. */
  readonly at: string;
  /** The only organization; null when the export has all. */
  readonly organizationId: string | null;
  readonly chains: number;
  readonly events: number;
  readonly contents: string;
}

interface KeyStatement {
  readonly number: number;
  readonly key: JWK;
  readonly at: string;
  readonly previous: { readonly hash: string; readonly key: JWK } | null;
}

interface Statements {
  readonly 'audit-checkpoint+jwt': Checkpoint;
  readonly 'audit-tree-head+jwt': TreeHead;
  readonly 'audit-key+jwt': KeyStatement;
  readonly 'audit-anchor+jwt': Anchor;
  readonly 'audit-export+jwt': ExportStatement;
}

/** The claims, if a trusted key has signed them as this type. */
export type ReadSigned = <Type extends keyof Statements>(
  type: Type,
  text: string,
) => Promise<Statements[Type] | undefined>;

export interface TrustedKeys {
  readonly read: ReadSigned;
  trust(key: JWK): void;
}

/** A key is used with its own algorithm only; `alg` of the statement does not choose it. */
function algorithmOf({ kty, crv }: JWK): string {
  if (kty === 'RSA') return 'RS256';
  if (kty === 'EC' && crv === 'P-256') return 'ES256';
  if (kty === 'OKP' && crv === 'Ed25519') return 'EdDSA';
  throw new Error('not a key for RS256, ES256 or EdDSA');
}

/** Chains that grew in the same pass share a tree head: it is verified once. Their texts take a few megabytes. */
const maxRemembered = 10_000;

export function createTrustedKeys(roots: readonly JWK[]): TrustedKeys {
  const keys = new Map<string | undefined, JWK>();
  const imported = new Map<JWK, Promise<CryptoKey | Uint8Array>>();
  const trust = (key: JWK) => void keys.set(key.kid, key);
  for (const root of roots) trust(root);

  const importOnce = (key: JWK) => {
    const known = imported.get(key) ?? importJWK(key, algorithmOf(key));
    imported.set(key, known);
    return known;
  };

  const treeHeads = new Map<string, unknown>();

  return {
    trust,
    async read(type, text) {
      const known = type === 'audit-tree-head+jwt' ? treeHeads.get(text) : undefined;
      if (known) return known as Statements[typeof type];
      try {
        if (!isCanonical(text)) return undefined;
        const { payload, protectedHeader } = await compactVerify(
          text,
          ({ kid, alg }) => {
            const key = typeof kid === 'string' ? keys.get(kid) : undefined;
            if (!key || alg !== algorithmOf(key)) throw new Error('not a trusted key');
            return importOnce(key);
          },
          { algorithms: ['RS256', 'ES256', 'EdDSA'] },
        );
        if (protectedHeader.typ !== type) return undefined;
        const claims = parseBytes(payload);
        if (treeHeads.size === maxRemembered) treeHeads.clear();
        if (type === 'audit-tree-head+jwt') treeHeads.set(text, claims);
        return claims;
      } catch {
        return undefined;
      }
    },
  };
}

/** The same signature has several spellings in base64url. Only one is accepted. */
function isCanonical(text: string): boolean {
  const signature = text.slice(text.lastIndexOf('.') + 1);
  return base64url.encode(base64url.decode(signature)) === signature;
}

const parseBytes = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes));

/** The claims without a check of the signature: for a statement whose hash a signed successor names. */
export function unverifiedClaims<Type extends keyof Statements>(
  _type: Type,
  text: string,
): Statements[Type] | undefined {
  const claims = parsePart(text, 1);
  return typeof claims === 'object' && claims !== null ? (claims as Statements[Type]) : undefined;
}

export const keyIdOf = (text: string): unknown => (parsePart(text, 0) as { kid?: unknown } | null)?.kid;

function parsePart(text: string, part: number): unknown {
  try {
    return parseBytes(base64url.decode(text.split('.')[part] ?? ''));
  } catch {
    return undefined;
  }
}

/** The leaf of a checkpoint in a tree: canonical JSON (RFC 8785). */
const checkpointText = ({ at, head, number, organizationId, previous, size }: Checkpoint): string =>
  JSON.stringify({ at, head, number, organizationId, previous, size });

export const checkpointLeaf = (checkpoint: Checkpoint): Promise<string> =>
  leafHash(checkpointText(checkpoint));

/** The next checkpoint names it as `previous`. */
export const checkpointHash = (line: CheckpointLine): Promise<string> =>
  line.inclusion ? checkpointLeaf(line) : sha256(line.signed);

/** Adds the earlier keys to the trusted ones: the statement of each key names the key before it. Returns the problem. */
export async function trustEarlierKeys(
  { read, trust }: TrustedKeys,
  lines: readonly KeyLine[],
): Promise<{ code: KeyProblem; number?: number } | undefined> {
  let expected: { number: number; hash: string | null } | undefined;
  for (const line of lines) {
    const { number } = line;
    const statement = await read('audit-key+jwt', line.signed);
    if (!statement) return { code: 'KEY_NOT_TRUSTED', number };
    if (expected && (number !== expected.number || (await sha256(line.signed)) !== expected.hash))
      return { code: 'KEY_NOT_NAMED', number };
    const { previous } = statement;
    const matches =
      statement.number === number && statement.key.kid === line.keyId && statement.at === line.at;
    if (!matches || (previous === null) !== (number === 1)) return { code: 'KEY_ROW_DIFFERS', number };
    if (previous) trust(previous.key);
    expected = { number: number - 1, hash: previous?.hash ?? null };
  }
  return expected?.number === 0 ? undefined : { code: 'FIRST_KEY_MISSING' };
}

type KeyProblem = 'KEY_NOT_TRUSTED' | 'KEY_NOT_NAMED' | 'KEY_ROW_DIFFERS' | 'FIRST_KEY_MISSING';
