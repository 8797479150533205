/**
 * How long a regular expression can run. A backtracking matcher tries each way in which a pattern can begin to match; this counts the
 * ways and the steps that they take, from the pattern alone. Backreferences and lookaround are refused, and so is an unbounded repetition
 * of something that can match in several ways: these run exponentially.
 */

/** Thrown for a pattern that cannot be admitted. */
export class PatternProblem extends Error {}

/** A part of a pattern. `ways` and `steps` are for a text of `length` characters. */
export interface Part {
  readonly ways: (length: number) => number;
  readonly steps: (length: number) => number;
  /** The characters that it takes at least. */
  readonly minLength: number;
  /** It matches at the beginning of the text only. */
  readonly isAnchored: boolean;
}

const maxPatternLength = 256;
const maxRepetitions = 1_000;

const one = () => 1;
const character: Part = { ways: one, steps: one, minLength: 1, isAnchored: false };
const position: Part = { ways: one, steps: one, minLength: 0, isAnchored: false };
const start: Part = { ...position, isAnchored: true };

const sequence = (parts: readonly Part[]): Part => ({
  ways: (length) => parts.reduce((ways, part) => ways * part.ways(length), 1),
  // Each way to match the parts before it begins the next part again.
  steps: (length) => {
    let [ways, steps] = [1, 0];
    for (const part of parts) {
      steps += ways * part.steps(length);
      ways *= part.ways(length);
    }
    return steps;
  },
  minLength: parts.reduce((sum, part) => sum + part.minLength, 0),
  isAnchored: parts[0]?.isAnchored ?? false,
});

const alternatives = (parts: readonly Part[]): Part => ({
  ways: (length) => parts.reduce((sum, part) => sum + part.ways(length), 0),
  steps: (length) => parts.reduce((sum, part) => sum + part.steps(length) + 1, 0),
  minLength: Math.min(...parts.map((part) => part.minLength)),
  isAnchored: parts.every((part) => part.isAnchored),
});

function repeated(part: Part, min: number, max: number): Part {
  const isPlain = part.ways(2) === 1 && part.minLength > 0;
  if (max === Infinity && !isPlain)
    throw new PatternProblem('repeats a group without end that can match in several ways');
  if (max !== Infinity && max > maxRepetitions)
    throw new PatternProblem(`repeats something more than ${maxRepetitions} times`);
  /** A text has no room for more. */
  const roomFor = (length: number) =>
    part.minLength > 0 ? Math.min(max, Math.floor(length / part.minLength)) : max;
  return {
    ways(length) {
      const [ways, most] = [part.ways(length), roomFor(length)];
      if (ways === 1) return Math.max(1, most - min + 1);
      return powers(ways, min, most);
    },
    steps(length) {
      const [ways, most] = [part.ways(length), roomFor(length)];
      const rounds = ways === 1 ? most : powers(ways, 0, most - 1);
      return part.steps(length) * Math.max(1, rounds) + 1;
    },
    minLength: part.minLength * min,
    isAnchored: min > 0 && part.isAnchored,
  };
}

/** The sum of base^k for k from `from` to `to`. */
function powers(base: number, from: number, to: number): number {
  let sum = 0;
  for (let k = from; k <= to && sum < Number.MAX_SAFE_INTEGER; k += 1) sum += base ** k;
  return Math.max(1, sum);
}

/** The steps for a text: without an anchor, the matcher begins at each character. */
export const stepsOf = (pattern: Part, length: number): number =>
  (pattern.isAnchored ? 1 : length + 1) * pattern.steps(length) + 1;

/** PatternProblem unless it is a regular expression (ECMA-262, with the flag `u`) without the constructs above. */
export function parsePattern(text: string): Part {
  if (text.length > maxPatternLength)
    throw new PatternProblem(`has more than ${maxPatternLength} characters`);
  try {
    new RegExp(text, 'u');
  } catch {
    throw new PatternProblem('is not a regular expression (with the flag u)');
  }
  return readAlternatives({ text, at: 0 });
}

/** The syntax is known to be valid. */
interface Reader {
  readonly text: string;
  at: number;
}

const take = (reader: Reader, pattern: RegExp): RegExpExecArray | null => {
  pattern.lastIndex = reader.at;
  const found = pattern.exec(reader.text);
  if (found) reader.at = pattern.lastIndex;
  return found;
};

function readAlternatives(reader: Reader): Part {
  const parts = [readSequence(reader)];
  while (take(reader, /\|/y)) parts.push(readSequence(reader));
  return parts.length === 1 ? (parts[0] as Part) : alternatives(parts);
}

function readSequence(reader: Reader): Part {
  const parts: Part[] = [];
  while (reader.at < reader.text.length && !/[|)]/.test(reader.text[reader.at] as string))
    parts.push(readQuantified(reader));
  return sequence(parts);
}

function readQuantified(reader: Reader): Part {
  const part = readTerm(reader);
  const [quantifier] = take(reader, /(?:[*+?]|\{\d+(?:,\d*)?\})\??/y) ?? [];
  if (quantifier === undefined) return part;
  if (quantifier.startsWith('*')) return repeated(part, 0, Infinity);
  if (quantifier.startsWith('+')) return repeated(part, 1, Infinity);
  if (quantifier.startsWith('?')) return repeated(part, 0, 1);
  const [, min = '', comma, max] = /^\{(\d+)(,?)(\d*)\}/.exec(quantifier) ?? [];
  return repeated(part, Number(min), comma ? (max ? Number(max) : Infinity) : Number(min));
}

function readTerm(reader: Reader): Part {
  if (take(reader, /\^/y)) return start;
  if (take(reader, /\$|\\[bB]/y)) return position;
  if (take(reader, /\((?:\?:|\?<(?![=!])[^>]+>|(?!\?))/y)) {
    const group = readAlternatives(reader);
    reader.at += 1;
    return group;
  }
  if (take(reader, /\(/y)) throw new PatternProblem('looks ahead or behind, or changes flags');
  if (take(reader, /\\(?:[1-9]|k)/y)) throw new PatternProblem('refers to an earlier group');
  if (take(reader, /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[a-zA-Z]|.)/suy))
    return character;
  if (take(reader, /\[(?:[^\]\\]|\\.)*\]/suy)) return character;
  take(reader, /./suy);
  return character;
}
