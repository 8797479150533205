/**
 * Most links of an export are read by their exact shape, any other line by JSON.parse. Both must give the same verdict and
 * finding, for real exports with random changes. A space at the end of a line leads it past the exact shape.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { repetitions } from '../../../test/support/repetitions.ts';
import { type AuditExportCase, createExportChanges } from '../../../test/support/sdk/export-changes.ts';
import { duplicateField, type LinkLine } from '../src/audit/export-lines.ts';
import { parseLinkFast } from '../src/audit/fast-link-parser.ts';
import { createStatementReader } from '../src/audit/statement-reader.ts';
import type { PublicKey } from '../src/audit/statements.ts';
import { evidenceOf } from '../src/audit/verify-chain.ts';
import { verifyExport } from '../src/audit/verify-export.ts';

const { auditExports }: { auditExports: readonly AuditExportCase[] } = JSON.parse(
  readFileSync(new URL('../../vectors.json', import.meta.url), 'utf8'),
);
const exportNamed = (name: string) => auditExports.find((each) => each.name === name) as AuditExportCase;
const exports = ['one organization', 'several organizations', 'after retention'].map(exportNamed);
const isLink = (line: string) => line.startsWith('{"kind":"link"');
const links = exports.flatMap(({ lines }) => lines.filter(isLink));
const flat = links.filter((line) => !line.includes('"event":null'));

/** Characters that JSON, UTF-8 or a line reader treat in a special way, and parts of a line. */
const fragment = fc.oneof(
  fc.constantFrom(
    ...['"', '\\', '\\"', '\\\\', '\\n', '\\u0000', '\\u0022', '\\ud800', '\\u0061', '\\/', '\\x'],
    ...['\0', '\n', '\r', '\t', ' ', '\u00a0', '\u2028', '\ufeff', '\ufffd', '\ud800', '\udc00', 'é', '😀'],
    ...[
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '","',
      '"}',
      '"}}',
      'null',
      'true',
      '0',
      '1',
      '-1',
      '1.0',
      '1e0',
      '01',
      'F',
      '-',
    ],
    ...[
      ',"appendedIn":"1"',
      ',"appendedIn":"1","seal":""}}',
      ',"seal":""',
      ',"event":null',
      '"canonical":"{}",',
    ],
    ...[
      '"kind":"link",',
      '"kind":"end",',
      '"approved":true,',
      '"c\\u0061nonical":"{}",',
      '"__proto__":{},',
      '"sequence":2,',
    ],
  ),
  fc.string({ unit: 'binary', maxLength: 3 }),
);

type Change = (line: string, other: string) => string;
const place = fc.nat(2_000);
const boundaries = (line: string) => [...line.matchAll(/[",:{}]|$/g)].map(({ index }) => index);
const atBoundary = (line: string, at: number) => boundaries(line)[at % boundaries(line).length] as number;
const spliced = (line: string, at: number, removed: number, text: string) =>
  line.slice(0, at) + text + line.slice(at + removed);

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(place, fc.nat(3), fragment).map(
    ([at, removed, text]): Change =>
      (line) =>
        spliced(line, at % (line.length + 1), removed, text),
  ),
  fc.tuple(place, fc.nat(3), fragment).map(
    ([at, removed, text]): Change =>
      (line) =>
        spliced(line, atBoundary(line, at), removed, text),
  ),
  // One character in another spelling.
  place.map(
    (at): Change =>
      (line) => {
        const code = line.charCodeAt(at % line.length);
        return spliced(line, at % line.length, 1, `\\u${code.toString(16).padStart(4, '0')}`);
      },
  ),
  // A number in another spelling, or none.
  fc
    .tuple(
      place,
      fc.constantFrom(
        '0#',
        '#.0',
        '#e0',
        '#E+0',
        '#.',
        '.#',
        '+#',
        '-#',
        '-0',
        '00',
        '1e400',
        '#_0',
        '0x#',
        '"#"',
      ),
    )
    .map(
      ([at, spelling]): Change =>
        (line) => {
          const numbers = [...line.matchAll(/(?<=[:,[])\d[\d.]*(?=[,\]}])/g)];
          const { 0: number, index } = numbers[at % numbers.length] as RegExpExecArray;
          return spliced(line, index, number.length, spelling.replace('#', number));
        },
    ),
  // A part of another line.
  fc.tuple(place, place, fc.nat(80)).map(
    ([at, from, length]): Change =>
      (line, other) =>
        spliced(
          line,
          at % line.length,
          length,
          other.slice(from % other.length, (from % other.length) + length),
        ),
  ),
  // A field again, at another place, or removed.
  fc.tuple(place, place, fc.nat(2)).map(
    ([from, to, kind]): Change =>
      (line) => {
        const fields = line.slice(1, -1).split(/,(?=")/);
        const field = fields[from % fields.length] as string;
        const rest = kind === 0 ? fields : fields.toSpliced(from % fields.length, 1);
        return `{${(kind === 2 ? rest : rest.toSpliced(to % (rest.length + 1), 0, field)).join(',')}}`;
      },
  ),
  // Another value of the right type, or of another.
  fc.tuple(place, fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }))).map(
    ([at, value]): Change =>
      (line) => {
        const fields = JSON.parse(line);
        const names = Object.keys(fields);
        fields[names[at % names.length] as string] = value;
        return JSON.stringify(fields);
      },
  ),
  fc
    .tuple(
      fc.constantFrom('canonical', 'appendedIn', 'seal'),
      fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' })),
    )
    .map(
      ([name, value]): Change =>
        (line) => {
          const fields = JSON.parse(line);
          return JSON.stringify({ ...fields, event: { ...fields.event, [name]: value } });
        },
    ),
  fc.constantFrom<Change>(
    (line) => line.replace('{', '{"approved":true,'),
    (line) => line.replace('"canonical"', '"approved":true,"canonical"'),
    (line) => line.replace('"linkedOn"', '"linkedOn":"2026-11-18","linkedOn"'),
    (line) => line.replace('"seal"', '"seal":"","seal"'),
    (line) => line.toUpperCase(),
    (line) => JSON.stringify(JSON.parse(line), undefined, 1).replaceAll('\n', ''),
    (line) => `${line}\r`,
    (line) => `\ufeff${line}`,
    (line) => line.replaceAll('/', '\\/'),
    (line) => line.slice(0, -1),
    (line, other) => line + other,
  ),
);

/** Two changes can restore the syntax that one of them broke. */
const changes = fc.array(change, { minLength: 1, maxLength: 2 });
const changedBy = (list: readonly Change[], line: string, other: string): string => {
  try {
    return list.reduce((text, each) => each(text, other), line);
  } catch {
    return line;
  }
};

/** The line as JSON.parse reads it. The identity is of the event's text. */
const readSlowly = (text: string) => {
  const { kind, organizationId, ...link } = JSON.parse(text);
  const { identity, ...evidence } = evidenceOf(link, link.event);
  return { kind, organizationId, evidence, identity: JSON.parse(identity?.canonical ?? 'null') };
};

describe('the exact shape of a link', () => {
  it('is the shape of the export', () => {
    assert.ok(flat.length > 10);
    for (const line of flat) assert.ok(parseLinkFast(line), line);
  });

  it('means what JSON.parse reads, with each field once, and the text of its own event', () => {
    let recognized = 0;
    fc.assert(
      fc.property(fc.constantFrom(...flat), fc.constantFrom(...links), changes, (line, other, list) => {
        const text = changedBy(list, line, other);
        const usual = parseLinkFast(text);
        if (!usual) return;
        if (text !== line) recognized += 1;
        const { kind, organizationId, evidence, identity } = readSlowly(text);
        assert.equal(kind, 'link');
        assert.deepEqual(usual, { organizationId, evidence });
        assert.equal(duplicateField(text), undefined);
        const { event, ...link } = JSON.parse(text);
        assert.equal(
          Object.keys(link).join(),
          'kind,organizationId,sequence,eventId,time,eventHash,hash,linkedOn',
        );
        assert.equal(Object.keys(event).join(), 'canonical,appendedIn,seal');
        assert.equal(identity.organizationId, organizationId);
        assert.equal(identity.eventId, link.eventId);
        assert.equal(`${identity.timestamp.slice(0, -1)}000Z`, link.time);
      }),
      { numRuns: repetitions(2_000, 10_000) },
    );
    assert.ok(recognized > 20, `${recognized}`);
  });

  it('is read in linear time', () => {
    const [before] = (flat[0] as string).split('"metadata\\":{') as [string];
    for (const text of ['\\"a\\":\\"b\\",', '\\"a\\":[1,2],', '\\"a\\":[1,1', '\\\\n', '\\"', '1', ',', '['])
      for (const length of [60_000, 1_000_000])
        assert.ok(!parseLinkFast(`${before}"metadata\\":{${text.repeat(length / text.length)}`), text);
  });
});

describe('an export with a change in it', () => {
  const verify = ({ jwks }: AuditExportCase, lines: readonly string[]) =>
    verifyExport(
      (async function* () {
        yield lines;
      })(),
      { roots: jwks.keys as PublicKey[], read: createStatementReader() },
    );
  const assertSame = async (each: AuditExportCase, lines: readonly string[]) => {
    const bySlowPath = await verify(
      each,
      lines.map((line) => line && `${line} `),
    );
    assert.deepEqual(await verify(each, lines), bySlowPath);
    return bySlowPath.finding?.code;
  };

  it('has the same verdict by both ways', async () => {
    const found = new Set<string | undefined>();
    const wanted = [
      'EXPORT_LINE_INVALID',
      'EXPORT_FIELD_REPEATED',
      'EXPORT_FIELD_UNKNOWN',
      'EVENT_CHANGED',
      'LINK_MISSING',
      undefined,
    ] as const;
    const missing = () => wanted.filter((code) => !found.has(code));
    // Random changes may leave a verdict out in one round, hardly in ten.
    for (let round = 0; round < 10 && missing().length > 0; round++)
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...exports), place, place, changes, async (each, at, from, list) => {
          const places = each.lines.flatMap((line, index) => (isLink(line) ? [index] : []));
          const index = places[at % places.length] as number;
          const other = links[from % links.length] as string;
          const text = changedBy(list, each.lines[index] as string, other);
          found.add(await assertSame(each, each.lines.with(index, text)));
        }),
        { numRuns: repetitions(150, 600) },
      );
    assert.deepEqual(missing(), []);
  });

  it('has the same verdict when all hashes were computed again', async () => {
    const each = exportNamed('one organization');
    const { rehashed } = createExportChanges({ one: each.lines, jwks: each.jwks } as Parameters<
      typeof createExportChanges
    >[0]);
    const found = new Set<string | undefined>();
    const canonical = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.tuple(fc.jsonValue(), fc.string({ unit: 'binary' })),
    );
    await fc.assert(
      fc.asyncProperty(fc.nat(3), canonical, async (at, value) => {
        const lines = rehashed((line, index) => {
          if (index !== at || !line.event) return line;
          const fields = JSON.parse(line.event.canonical);
          const text =
            typeof value === 'string'
              ? value
              : JSON.stringify({ ...fields, metadata: value[0], userAgent: value[1] });
          return { ...line, event: { ...line.event, canonical: text } } satisfies LinkLine;
        });
        found.add(
          await assertSame(
            each,
            lines.map((line) => JSON.stringify(line)),
          ),
        );
      }),
      { numRuns: repetitions(40, 150) },
    );
    assert.deepEqual([...found].sort(), [
      'CHECKPOINT_HEAD_MISMATCH',
      'EVENT_TEXT_INVALID',
      'EVENT_TEXT_OF_ANOTHER',
    ]);
  });

  it('has the same verdict for each export of the SDKs', async () => {
    for (const each of auditExports) await assertSame(each, each.lines);
  });
});
