/** Every value in the lines of an export that a link, the log, the day and the end are in is proven: a change of any is found. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { repetitions } from '../../../test/support/repetitions.ts';
import type { AuditExportCase } from '../../../test/support/sdk/export-changes.ts';
import { createStatementReader } from '../src/audit/statement-reader.ts';
import type { PublicKey } from '../src/audit/statements.ts';
import { verifyExport } from '../src/audit/verify-export.ts';
import { readLogTrust } from '../src/transparency/log-trust.ts';

const { auditExports }: { auditExports: readonly AuditExportCase[] } = JSON.parse(
  readFileSync(new URL('../../vectors.json', import.meta.url), 'utf8'),
);
const exports = ['a day, with two witnesses', 'several organizations, with two witnesses'].map(
  (name) => auditExports.find((each) => each.name === name) as AuditExportCase,
);
const read = createStatementReader();
const isIntact = async ({ jwks, log }: AuditExportCase, lines: readonly string[]): Promise<boolean> => {
  const { finding, statement } = await verifyExport(lines, {
    roots: jwks.keys as PublicKey[],
    read,
    log: log && readLogTrust(log),
  });
  return finding === undefined && statement !== undefined;
};

type Path = readonly (string | number)[];
type Json = Readonly<Record<string, unknown>>;
const atPath = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((each, name) => (each as Json)[name as string], value);
/** The paths of all values, also of lists and objects. */
const pathsIn = (value: unknown, path: Path = []): Path[] =>
  typeof value === 'object' && value !== null
    ? [path, ...Object.entries(value).flatMap(([name, inner]) => pathsIn(inner, [...path, name]))]
    : [path];

function withValue(line: unknown, path: Path, change: (value: unknown) => unknown): object {
  const changed = structuredClone(line) as object;
  const last = path.at(-1) as string;
  const owner = atPath(changed, path.slice(0, -1)) as Record<string, unknown>;
  const value = change(owner[last]);
  if (value !== undefined) owner[last] = value;
  else if (Array.isArray(owner)) owner.splice(Number(last), 1);
  else delete owner[last];
  return changed;
}

const kinds = ['logProof', 'start', 'end', 'link'];
const places = exports.flatMap((each) =>
  each.lines.flatMap((text, place, lines) => {
    const line = JSON.parse(text);
    // One link is like the others.
    const isLater = line.kind === 'link' && lines.slice(0, place).some((before) => before.includes('"link"'));
    if (!kinds.includes(line.kind) || isLater) return [];
    return pathsIn(line)
      .filter((path) => path.length > 0)
      .map((path) => ({ each, place, line, path, name: `${line.kind}.${path.join('.')}` }));
  }),
);

const otherValues = (value: unknown): readonly unknown[] => [
  undefined,
  null,
  true,
  '',
  [],
  {},
  ...(typeof value === 'number'
    ? [value + 1, value - 1, -value, value + 0.5, value + 2 ** 32, String(value)]
    : []),
  ...(typeof value === 'string'
    ? [`${value} `, ` ${value}`, `${value}\n`, value.toUpperCase(), [value]]
    : []),
  ...(Array.isArray(value) ? [value.slice(1), [...value, ...value], value.toReversed()] : []),
];

describe('a change of one value is found', () => {
  it('the exports are intact as they are', async () => {
    for (const each of exports) assert.ok(await isIntact(each, each.lines));
    assert.deepEqual([...new Set(places.map(({ line }) => line.kind))].sort(), kinds.toSorted());
  });

  for (const { each, place, line, path, name } of places)
    it(`${name} in line ${place + 1} of "${each.name}"`, async () => {
      for (const other of otherValues(atPath(line, path))) {
        const changed = JSON.stringify(withValue(line, path, () => other));
        if (changed === each.lines[place]) continue;
        assert.equal(await isIntact(each, each.lines.with(place, changed)), false, changed);
      }
    });

  it('random characters of texts, and lines that were moved, removed or repeated', async () => {
    const texts = places.filter(({ line, path }) => typeof atPath(line, path) === 'string');
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...texts),
        fc.nat(),
        fc.constantFrom('A', 'z', '0', '_', '.', '\n', ' ', '\u2014'),
        fc.constantFrom('replace', 'insert', 'delete'),
        async ({ each, place, line, path }, at, character, how) => {
          const text = atPath(line, path) as string;
          const index = at % text.length;
          const changed =
            text.slice(0, index) +
            (how === 'delete' ? '' : character) +
            text.slice(index + (how === 'insert' ? 0 : 1));
          fc.pre(changed !== text);
          const lines = each.lines.with(place, JSON.stringify(withValue(line, path, () => changed)));
          assert.equal(await isIntact(each, lines), false, String(lines[place]));
        },
      ),
      { numRuns: repetitions(500, 20_000) },
    );
    const lines = fc.constantFrom(...places);
    await fc.assert(
      fc.asyncProperty(
        lines,
        fc.nat(),
        fc.constantFrom('move', 'remove', 'repeat'),
        async (found, at, how) => {
          const { each, place } = found;
          const rest = how === 'repeat' ? each.lines : each.lines.toSpliced(place, 1);
          const to = at % rest.length;
          const changed = how === 'remove' ? rest : rest.toSpliced(to, 0, each.lines[place] as string);
          fc.pre(changed.join('\n') !== each.lines.join('\n'));
          assert.equal(await isIntact(each, changed), false, changed.join('\n'));
        },
      ),
      { numRuns: repetitions(200, 5_000) },
    );
  });
});
