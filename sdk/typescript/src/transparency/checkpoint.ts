/** Checkpoints (C2SP tlog-checkpoint): the text of a note with the origin, size and root hash of a log, a line each. */
import { parseDecimal } from './decimal.ts';
import { TransparencyError } from './errors.ts';
import { formatHash, isHash, parseHash } from './hash.ts';
import { readLinesOf } from './lines.ts';

export interface Checkpoint {
  /** Names the log. */
  readonly origin: string;
  readonly size: number;
  /** Hexadecimal. */
  readonly root: string;
}

export interface ParsedCheckpoint extends Checkpoint {
  /** Further lines. They are signed, but no rule of the log concerns them. */
  readonly extensions: readonly string[];
}

const maxTextBytes = 16 * 1024;

/** `text` is the text of a note, with its last newline. */
export function parseCheckpoint(text: string): ParsedCheckpoint {
  const lines = readLinesOf(text, maxTextBytes, 'CHECKPOINT_MALFORMED').split('\n');
  if (lines.pop() !== '' || lines.length < 3 || lines.includes(''))
    throw new TransparencyError(
      'CHECKPOINT_MALFORMED',
      'a checkpoint has three lines or more, none of them empty',
    );
  const [origin, sizeLine, rootLine, ...extensions] = lines as [string, string, string, ...string[]];
  const size = parseDecimal(sizeLine);
  if (size === undefined)
    throw new TransparencyError('CHECKPOINT_MALFORMED', 'the second line is not a size up to 2^53 - 1');
  const root = parseHash(rootLine);
  if (root === undefined)
    throw new TransparencyError('CHECKPOINT_MALFORMED', 'the third line is not the base64 of a hash');
  return { origin, size, root, extensions };
}

/** The three lines. Throws when a reader would refuse them. */
export function formatCheckpoint({ origin, size, root }: Checkpoint): string {
  if (!isHash(root)) throw new TransparencyError('CHECKPOINT_MALFORMED', 'the root is not a hash');
  const text = `${origin}\n${size}\n${formatHash(root)}\n`;
  const parsed = parseCheckpoint(text);
  if (parsed.origin !== origin)
    throw new TransparencyError('CHECKPOINT_MALFORMED', 'the origin has more than one line');
  return text;
}
