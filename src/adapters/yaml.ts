/** YAML 1.2 (and JSON, which is a part of it) with the position of every value, for files that people write. */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseAllDocuments,
  stringify,
} from 'yaml';

export interface Position {
  readonly line: number;
  readonly column: number;
}

export type Path = readonly (string | number)[];

export interface YamlDocument {
  readonly value: unknown;
  /** Of the value; of the nearest value around it that is in the text. */
  positionOf(path: Path): Position;
  /** Of the key that the value has in its map. */
  keyPositionOf(path: Path): Position;
}

/** The text is no YAML, or none that we accept. */
export class YamlProblem extends Error {
  readonly position: Position;

  constructor(message: string, position: Position) {
    super(message);
    this.position = position;
  }
}

const maxDepth = 32;
/** Aliases can make a large value from a short text. */
const maxAliasedValues = 50_000;

/** The documents of a text that are not empty. Throws YamlProblem. */
export function parseYaml(text: string): YamlDocument[] {
  const lines = new LineCounter();
  const position = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  return parseDocuments(text, lines)
    .filter(({ contents }) => contents !== null && !(isScalar(contents) && contents.value === null))
    .map((document) => {
      // Tags that are not known are warnings of the library. We know none beyond YAML's own.
      const [problem] = [...document.errors, ...document.warnings];
      if (problem) throw new YamlProblem(sentenceOf(problem.message), position(problem.pos[0]));
      const { value, targets } = convertDocument(document, position);
      return {
        value,
        positionOf: (path) => position(offsetOf(document, targets, path, 'value')),
        keyPositionOf: (path) => position(offsetOf(document, targets, path, 'key')),
      };
    });
}

export const writeYaml = (value: unknown): string =>
  stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });

function parseDocuments(text: string, lineCounter: LineCounter): Document.Parsed[] {
  try {
    // `convertDocument` finds repeated keys: the library compares all pairs of keys.
    const options = { lineCounter, uniqueKeys: false, prettyErrors: false, stringKeys: true };
    return [...parseAllDocuments(text, options)];
  } catch (error) {
    if (error instanceof RangeError) throw new YamlProblem('is nested too deeply', { line: 1, column: 1 });
    throw error;
  }
}

/** The library's message, without a copy of the text. */
function sentenceOf(message: string): string {
  if (/call stack/.test(message)) return 'is nested too deeply';
  return message.split('\n', 1)[0] ?? '';
}

/** The nodes that aliases stand for. The library would search the whole document for each. */
type Targets = ReadonlyMap<ParsedNode, ParsedNode>;

function convertDocument(
  document: Document.Parsed,
  position: (offset: number) => Position,
): { value: unknown; targets: Targets } {
  let aliasedValues = 0;
  const targets = new Map<ParsedNode, ParsedNode>();
  const anchors = new Map<string, ParsedNode>();
  const fail = (node: ParsedNode, message: string): never => {
    throw new YamlProblem(message, position(node.range[0]));
  };
  const convert = (node: ParsedNode | null, depth: number, isAliased: boolean): unknown => {
    if (node === null) return null;
    if (isAliased) aliasedValues += 1;
    if (aliasedValues > maxAliasedValues)
      fail(node, `aliases stand for more than ${maxAliasedValues} values; use fewer aliases`);
    if (depth > maxDepth) fail(node, `is nested deeper than ${maxDepth} levels`);
    if (isAlias(node)) {
      const target =
        anchors.get(node.source) ?? fail(node, `names the anchor ${node.source}, which is not defined`);
      targets.set(node, target);
      return convert(target, depth + 1, true);
    }
    if (node.anchor) anchors.set(node.anchor, node);
    if (isScalar(node)) return typeof node.value === 'bigint' ? String(node.value) : node.value;
    if (isSeq(node)) return node.items.map((item) => convert(item as ParsedNode, depth + 1, isAliased));
    if (!isMap(node)) return fail(node, 'is not a value of YAML');
    const fields = new Map<string, unknown>();
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : fail(key, 'must be a text, because it is a key');
      if (fields.has(name)) fail(key, `the key ${name} is repeated`);
      fields.set(name, convert(value as ParsedNode | null, depth + 1, isAliased));
    }
    return Object.fromEntries(fields);
  };
  return { value: convert(document.contents, 0, false), targets };
}

function offsetOf(document: Document.Parsed, targets: Targets, path: Path, of: 'key' | 'value'): number {
  let node: ParsedNode | null = document.contents;
  let offset = node?.range[0] ?? 0;
  for (const [depth, step] of path.entries()) {
    if (isAlias(node)) node = targets.get(node) ?? null;
    const isLast = depth === path.length - 1;
    if (isSeq(node)) node = (node.items[Number(step)] as ParsedNode | undefined) ?? null;
    else if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step);
      if (pair && (pair.value === null || (isLast && of === 'key'))) return pair.key.range[0];
      node = (pair?.value as ParsedNode | undefined) ?? null;
    } else node = null;
    if (node === null) return offset;
    offset = node.range[0];
  }
  return offset;
}
