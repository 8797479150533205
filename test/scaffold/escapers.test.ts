/** Escapes ten thousand texts for each language and reads them back with that language. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { escapers } from '../../src/features/scaffold/literals.ts';
import { succeedSync } from '../support/child-process.ts';
import { skipWithout } from '../support/harness.ts';
import { findProgram } from '../support/programs.ts';
import { hostile } from '../support/scaffold/projects.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-escapers-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const traps = [
  '\\',
  '"',
  "'",
  '`',
  '$',
  '{',
  '}',
  '(',
  ')',
  '*/',
  '/*',
  '//',
  '#',
  '"""',
  "'''",
  '\r',
  '\n',
  '\t',
  '\0',
  '\\u000a',
  '\\u{a}',
  '\\x41',
  '\\N{DIGIT ONE}',
  '\\012',
  'u',
  'U',
  '0',
  '7',
  'r#"',
  '"#',
  `\${x}`,
  '#{x}',
  '%s',
  '@@owner@@',
  '</script>',
  ';rm -rf /',
  '\u0085',
  '\u2028',
  '\u2029',
  '\u202e',
  '\u2066',
  '\ufeff',
  '\u{1f600}',
  '\u{10ffff}',
  '\ud7ff',
  '\ue000',
  '',
];
const texts: readonly string[] = [
  hostile().owner,
  ...traps,
  ...fc.sample(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 24 }),
      fc.string({ unit: fc.constantFrom(...traps), maxLength: 8 }),
      fc.string({ unit: 'grapheme', maxLength: 16 }),
    ),
    10_000,
  ),
  '',
];
const expected = texts.map((text) => Buffer.from(text).toString('hex'));

interface Reader {
  readonly program: string;
  readonly literal: (text: string) => string;
  readonly file: string;
  /** A program that prints each literal as UTF-8 in hexadecimal, one a line. */
  readonly source: (literals: readonly string[]) => string;
  readonly run: (file: string) => string;
  readonly suits?: (text: string) => boolean;
}

/** Longer than the default: compilers are slow. */
const timeout = 900_000;

const execute = (program: string, ...args: string[]): string =>
  succeedSync(program, args, { cwd: folder, timeout });

const inGroups = (literals: readonly string[], size: number): string[][] =>
  Array.from({ length: Math.ceil(literals.length / size) }, (_, at) =>
    literals.slice(at * size, (at + 1) * size),
  );

const readers: Record<string, Reader> = {
  typescript: {
    program: 'node',
    literal: escapers['.ts'],
    file: 'texts.ts',
    source: (literals) =>
      `const texts: string[] = [\n${literals.join(',\n')}];\nconsole.log(texts.map((text) => Buffer.from(text).toString('hex')).join('\\n'));`,
    run: (file) => execute(process.execPath, file),
  },
  python: {
    program: 'python3',
    literal: escapers['.py'],
    file: 'texts.py',
    source: (literals) => `for text in [\n${literals.join(',\n')}]:\n    print(text.encode().hex())\n`,
    run: (file) => execute('python3', file),
  },
  go: {
    program: 'go',
    literal: escapers['.go'],
    file: 'texts.go',
    source: (literals) =>
      `package main\n\nimport "fmt"\n\nfunc main() {\n\tfor _, text := range []string{\n${literals.join(',\n')},\n\t} {\n\t\tfmt.Printf("%x\\n", text)\n\t}\n}\n`,
    run: (file) => execute('go', 'run', file),
  },
  java: {
    program: 'java',
    literal: escapers['.java'],
    file: 'Texts.java',
    // A method holds 64 KB of code at the most.
    source: (literals) => {
      const groups = inGroups(literals, 500);
      return `public class Texts {
${groups.map((group, at) => `  static class T${at} { static final String[] TEXTS = {\n${group.join(',\n')}\n  }; }`).join('\n')}
  static void print(String[] texts) {
    for (String text : texts)
      System.out.println(java.util.HexFormat.of().formatHex(text.getBytes(java.nio.charset.StandardCharsets.UTF_8)));
  }
  public static void main(String[] args) {
${groups.map((_, at) => `    print(T${at}.TEXTS);`).join('\n')}
  }
}
`;
    },
    run: (file) => execute('java', file),
  },
  rust: {
    program: 'rustc',
    literal: escapers['.rs'],
    file: 'texts.rs',
    source: (literals) =>
      `static TEXTS: &[&str] = &[\n${literals.join(',\n')}];\n\nfn main() {\n    for text in TEXTS {\n        println!("{}", text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>());\n    }\n}\n`,
    run: (file) => {
      execute('rustc', '--edition', '2024', '-o', 'texts', file);
      return execute(join(folder, 'texts'));
    },
  },
  '.env, by sh': {
    program: 'sh',
    literal: escapers['.env.example'],
    file: 'texts.env',
    source: (literals) => literals.map((literal) => `X=${literal}\nprintf '%s\\0' "$X"`).join('\n'),
    run: (file) =>
      execute('sh', file)
        .split('\0')
        .slice(0, -1)
        .map((text) => `${Buffer.from(text).toString('hex')}\n`)
        .join(''),
    // An environment variable cannot hold NUL.
    suits: (text) => !text.includes('\0'),
  },
};

describe('an escaped literal', { concurrency: 2 }, () => {
  for (const [language, { program, literal, file, source, run, suits = () => true }] of Object.entries(
    readers,
  )) {
    it(`equals its text when ${language} reads it: ${texts.length} texts`, { timeout }, (t) => {
      if (program !== 'node' && !findProgram(program)) return skipWithout(t, program);
      const suiting = texts.filter(suits);
      writeFileSync(join(folder, file), source(suiting.map(literal)));
      const read = run(join(folder, file)).split('\n').slice(0, -1);
      const wanted = expected.filter((_, at) => suits(texts[at] as string));
      const wrong = wanted.findIndex((hex, at) => read[at] !== hex);
      assert.equal(
        wrong,
        -1,
        `${JSON.stringify(suiting[wrong])} as ${literal(suiting[wrong] ?? '')} became ${read[wrong]}`,
      );
      assert.equal(read.length, wanted.length);
    });
  }

  it('is one line of ASCII where the language has escapes', () => {
    for (const [kind, literal] of Object.entries(escapers))
      if (kind !== '.env.example') for (const text of texts) assert.match(literal(text), /^[\x20-\x7e]+$/);
  });
});
