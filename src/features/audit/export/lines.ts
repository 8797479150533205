/** The lines of an export: JSON, one object per line, in this order. Evidence is grouped by organization. */

import type { EventText, Link } from '../chain/hashes.ts';
import type { KeyRow } from '../chain/keys/trusted-keys.ts';
import type { AnchorRow, CheckpointRow } from '../chain/statements.ts';

export const exportVersion = 1;

/** Far more than any line has. */
export const maxLineLength = 16 * 1024 * 1024;

export interface VersionLine {
  readonly kind: 'export';
  readonly version: number;
}

/** The newest first. */
export interface KeyLine extends KeyRow {
  readonly kind: 'key';
}

export interface AnchorLine extends AnchorRow {
  readonly kind: 'anchor';
  readonly organizationId: string;
}

export interface LinkLine extends Link {
  readonly kind: 'link';
  readonly organizationId: string;
  /** Null when retention dropped the event. */
  readonly event: EventText | null;
}

/** After the last link that it covers. */
export interface CheckpointLine extends CheckpointRow {
  readonly kind: 'checkpoint';
  readonly takenOn: string;
}

export interface EndLine {
  readonly kind: 'end';
  readonly chains: number;
  readonly events: number;
  /** The manifest as a signed statement. Exports of earlier versions have none. */
  readonly signed?: string;
}

export type ExportLine = VersionLine | KeyLine | AnchorLine | LinkLine | CheckpointLine | EndLine;
