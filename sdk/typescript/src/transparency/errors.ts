/** The error of this folder: a text, key, tile or message that its reader refuses, or a value that has no such form. */

export type TransparencyErrorCode =
  | 'KEY_MALFORMED'
  | 'NOTE_MALFORMED'
  /** No known key has signed the note, or the key of the log has not. */
  | 'NOTE_NOT_SIGNED'
  /** A known key, with a signature that is not its own. */
  | 'SIGNATURE_INVALID'
  | 'CHECKPOINT_MALFORMED'
  /** The checkpoint is of another log. */
  | 'ORIGIN_MISMATCH'
  | 'TILE_MALFORMED'
  | 'BUNDLE_MALFORMED'
  /** A request or an answer of the witness protocol. */
  | 'MESSAGE_MALFORMED'
  /** A size or index outside the tree. */
  | 'OUT_OF_RANGE';

export class TransparencyError extends Error {
  readonly code: TransparencyErrorCode;

  constructor(code: TransparencyErrorCode, message: string) {
    super(message);
    this.name = 'TransparencyError';
    this.code = code;
  }
}
