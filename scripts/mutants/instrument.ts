/**
 * Makes the mutants of source files with Stryker's instrumenter. Its output contains all mutants of a file, each behind a condition
 * on its id, so that a process loads the code once and then switches from mutant to mutant.
 */
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { Instrumenter } from '@stryker-mutator/instrumenter';

export interface Mutant {
  readonly id: string;
  readonly file: string;
  readonly line: number;
  readonly mutator: string;
  readonly original: string;
  readonly replacement: string;
}

export interface Instrumented {
  readonly mutants: readonly Mutant[];
  /** JavaScript by path. */
  readonly sources: Readonly<Record<string, string>>;
}

/** Texts, literals and whole blocks: a test that notices them says little, and most of them are messages and descriptions. */
const excluded = ['StringLiteral', 'ObjectLiteral', 'ArrayDeclaration', 'BlockStatement', 'ArrowFunction'];
/** It skips calls that contain another mutant, and calls behind `await`. */
const replaced = ['CallExpression'];

export const mutators = [
  'ArithmeticOperator',
  'AssignmentOperator',
  'BooleanLiteral',
  'Call',
  'ConditionalExpression',
  'EqualityOperator',
  'LogicalOperator',
  'MethodExpression',
  'NumericLiteral',
  'OptionalChaining',
  'Regex',
  'UnaryOperator',
  'UpdateOperator',
];

interface Node {
  readonly type: string;
  readonly value?: unknown;
  readonly expression?: Node;
  readonly argument?: Node;
}
interface NodePath {
  readonly node: Node;
  readonly key: unknown;
}

const isCall = (node?: Node): boolean =>
  node?.type === 'CallExpression' ||
  node?.type === 'OptionalCallExpression' ||
  (node?.type === 'AwaitExpression' && isCall(node.argument));

/** Removes a call whose result is not used. */
const callMutator = {
  name: 'Call',
  *mutate({ node }: NodePath) {
    if (node.type === 'ExpressionStatement' && isCall(node.expression)) yield { type: 'EmptyStatement' };
  },
};

/** One more of a large number, such as a duration, makes no difference to anyone. */
const otherNumber = (value: number): number => (value < 10 ? value + 1 : 2 * value);

const numberMutator = {
  name: 'NumericLiteral',
  *mutate({ node, key }: NodePath) {
    if (node.type === 'NumericLiteral' && key !== 'key')
      yield { type: 'NumericLiteral', value: otherNumber(Number(node.value)) };
  },
};

/** The library has no door for further mutators, except the list that it reads. */
async function addMutators(): Promise<void> {
  const list = new URL('mutators/mutate.js', import.meta.resolve('@stryker-mutator/instrumenter'));
  const { allMutators }: { allMutators: { readonly name: string }[] } = await import(list.href);
  if (!allMutators.includes(callMutator)) allMutators.push(callMutator, numberMutator);
}

const silent = () => {};
const logger = {
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  fatal: silent,
};

/** With `only`: mutants of these mutators. */
export async function instrument(files: readonly string[], only = mutators): Promise<Instrumented> {
  await addMutators();
  const texts = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
  const result = await new Instrumenter(logger).instrument(
    [...texts].map(([name, content]) => ({ name, content, mutate: true })),
    {
      plugins: null,
      ignorers: [],
      excludedMutations: [...excluded, ...replaced, ...mutators.filter((name) => !only.includes(name))],
    },
  );
  return {
    mutants: result.mutants
      .filter(({ status }) => status !== 'Ignored')
      .map(({ id, fileName, location, mutatorName, replacement }) => ({
        id,
        file: fileName,
        line: location.start.line + 1,
        mutator: mutatorName,
        original: textAt(texts.get(fileName) ?? '', location),
        replacement,
      })),
    sources: Object.fromEntries(
      result.files.map(({ name, content }) => [name, stripTypeScriptTypes(content)]),
    ),
  };
}

interface Position {
  readonly line: number;
  readonly column: number;
}

function textAt(text: string, { start, end }: { readonly start: Position; readonly end: Position }): string {
  const lines = text.split('\n').slice(start.line, end.line + 1);
  const last = lines.length - 1;
  return lines
    .map((line, index) => line.slice(index === 0 ? start.column : 0, index === last ? end.column : undefined))
    .join('\n');
}
