/** The manifest of an archived file: what was read back of it, and signed. */
import type { ArchiveStatement } from '../../../../sdk/typescript/src/audit/statements.ts';

export interface ArchiveManifest extends ArchiveStatement {
  readonly version: 1;
  /** The other fields as a compact JWS with type `audit-archive+jwt`. */
  readonly signed: string;
}

/** Far more than a manifest has. */
export const maxManifestBytes = 65_536;

export const printManifest = (manifest: ArchiveManifest): string => `${JSON.stringify(manifest, null, 2)}\n`;

const fields = {
  organizationId: 'string',
  date: 'string',
  events: 'number',
  bytes: 'number',
  sha256: 'string',
  chainHead: 'string',
  createdAt: 'string',
} as const satisfies Record<keyof ArchiveStatement, string>;

export const statementFields = Object.keys(fields) as (keyof ArchiveStatement)[];

/** Undefined for a text that is no manifest of a known version. */
export function parseManifest(text: string): ArchiveManifest | undefined {
  let value: Record<string, unknown> | null;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || value.version !== 1) return undefined;
  const isComplete = [...Object.entries(fields), ['signed', 'string']].every(
    ([name = '', type]) => typeof value[name] === type,
  );
  return isComplete ? (value as unknown as ArchiveManifest) : undefined;
}
