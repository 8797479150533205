import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formatEntryBundle, maxEntryBytes, parseEntryBundle } from '../../src/transparency/entry-bundle.ts';
import { entryHash } from '../../src/transparency/hash.ts';
import {
  bundlesBetween,
  type HashTile,
  hasTile,
  placeOf,
  type Tile,
  tileIn,
  tilesBetween,
  tilesOf,
} from '../../src/transparency/tile.ts';
import { formatTile, parseTile, perfectRoot } from '../../src/transparency/tile-hashes.ts';
import { parseTilePath, tilePath } from '../../src/transparency/tile-path.ts';
import { bitChanges, entriesOf, leavesOf, naiveRoot, refusal } from './support.ts';

const paths = (tiles: Iterable<Tile>) => [...tiles].map(tilePath);
const largest = Number.MAX_SAFE_INTEGER;

describe('the path of a tile', () => {
  it('has the index in groups of three digits', () => {
    const path = (level: HashTile['level'] | 'entries', index: number, width = 256) =>
      tilePath({ level, index, width } as Tile);
    assert.equal(path(0, 1234067), 'tile/0/x001/x234/067');
    assert.equal(path(0, 0), 'tile/0/000');
    assert.equal(path(1, 999), 'tile/1/999');
    assert.equal(path(1, 1000, 17), 'tile/1/x001/000.p/17');
    assert.equal(path('entries', 5, 255), 'tile/entries/005.p/255');
  });

  it('is read as it was written, for any tile', () => {
    const level = fc.oneof(fc.constant('entries' as const), fc.nat(63));
    fc.assert(
      fc.property(level, fc.maxSafeNat(), fc.integer({ min: 1, max: 256 }), (level, index, width) => {
        assert.deepEqual(parseTilePath(tilePath({ level, index, width } as Tile)), { level, index, width });
      }),
    );
  });

  for (const path of [
    '',
    'tile',
    'tile/0',
    'tile/0/',
    'tile/0/0',
    'tile/0/00',
    'tile/0/0000',
    'tile/0/001/000',
    'tile/0/x000/000',
    'tile/0/x001',
    'tile/0/x001/x234/x067',
    'tile/0/X001/234',
    'tile/0/x1/234',
    'tile/0/x001//234',
    'tile/0/000/',
    '/tile/0/000',
    'tile/0/000\n',
    'tile/00/000',
    'tile/01/000',
    'tile/64/000',
    'tile/100/000',
    'tile/-1/000',
    'tile/data/000',
    'tile/8/0/000',
    'tile/0/-01',
    'tile/0/+01',
    'tile/0/٠٠٠',
    'tile/0/000.p',
    'tile/0/000.p/',
    'tile/0/000.p/0',
    'tile/0/000.p/01',
    'tile/0/000.p/256',
    'tile/0/000.p/1000',
    'tile/0/000.p/1/',
    'tile/0/x001.p/000',
    'tile/0/../000',
    'tile/0/x009/x007/x199/x254/x740/992',
    'tile/0/x001/x000/x000/x000/x000/x000/000',
    'tile/entries',
    'tile/Entries/000',
  ])
    it(`is not ${JSON.stringify(path)}`, () => assert.equal(parseTilePath(path), undefined));

  it('may have the largest exact index', () => {
    assert.equal(parseTilePath('tile/0/x009/x007/x199/x254/x740/991')?.index, largest);
  });
});

describe('the tiles of a tree', () => {
  it('of no entries: none', () => assert.deepEqual(paths(tilesOf(0)), []));

  it('of 70,000 entries, as the specification counts them', () => {
    const tiles = [...tilesOf(70_000)];
    const count = (level: number, isFull: boolean) =>
      tiles.filter((tile) => tile.level === level && (tile.width === 256) === isFull);
    assert.deepEqual(
      [0, 1, 2].map((level) => [count(level, true).length, count(level, false).map(({ width }) => width)]),
      [
        [273, [112]],
        [1, [17]],
        [0, [1]],
      ],
    );
    assert.equal(tiles.length, 277);
  });

  it('of 256 entries: a full one, and a partial one above', () => {
    assert.deepEqual(paths(tilesOf(256)), ['tile/0/000', 'tile/1/000.p/1']);
  });

  it('that grows: new and wider ones only', () => {
    assert.deepEqual(paths(tilesBetween(5, 5)), []);
    assert.deepEqual(paths(tilesBetween(255, 256)), ['tile/0/000', 'tile/1/000.p/1']);
    assert.deepEqual(paths(tilesBetween(256, 257)), ['tile/0/001.p/1']);
    assert.deepEqual(paths(tilesBetween(300, 600)), ['tile/0/001', 'tile/0/002.p/88', 'tile/1/000.p/2']);
    assert.deepEqual(paths(bundlesBetween(300, 600)), ['tile/entries/001', 'tile/entries/002.p/88']);
  });

  it('are all that earlier and later growth adds', () => {
    fc.assert(
      fc.property(fc.nat(200_000), fc.nat(1_000), (oldSize, more) => {
        const size = oldSize + more;
        const before = new Set(paths(tilesOf(oldSize)));
        assert.deepEqual(
          paths(tilesBetween(oldSize, size)),
          paths(tilesOf(size)).filter((path) => !before.has(path)),
        );
      }),
      { numRuns: 20 },
    );
  });

  it('of the largest exact size', () => {
    assert.deepEqual(paths(tilesBetween(largest - 1, largest)), ['tile/0/x035/x184/x372/x088/831.p/255']);
    assert.deepEqual(tileIn(largest, 6, 0), { level: 6, index: 0, width: 31 });
    assert.equal(tileIn(largest, 7, 0), undefined);
  });

  it('exist with one width', () => {
    const has = (level: number | 'entries', index: number, width: number) =>
      hasTile(600, { level, index, width } as Tile);
    assert.ok(has(0, 1, 256) && has(0, 2, 88) && has(1, 0, 2) && has('entries', 2, 88));
    for (const [level, index, width] of [
      [0, 1, 255],
      [0, 2, 87],
      [0, 2, 256],
      [0, 3, 1],
      [1, 0, 256],
      [2, 0, 1],
      ['entries', 3, 1],
    ] as const)
      assert.ok(!has(level, index, width), `${level} ${index} ${width}`);
  });

  it('OUT_OF_RANGE: a tree that shrinks, or has no size', () => {
    for (const [oldSize, size] of [
      [2, 1],
      [-1, 1],
      [0, 1.5],
      [0, 2 ** 53],
    ] as const) {
      assert.throws(() => [...tilesBetween(oldSize, size)], refusal('OUT_OF_RANGE'));
      assert.throws(() => [...bundlesBetween(oldSize, size)], refusal('OUT_OF_RANGE'));
    }
  });
});

describe('the place of a hash', () => {
  it('is a range of hashes in the tile of its level', () => {
    assert.deepEqual(placeOf(0, 300), { level: 0, index: 1, start: 44, end: 45 });
    assert.deepEqual(placeOf(3, 33), { level: 0, index: 1, start: 8, end: 16 });
    assert.deepEqual(placeOf(7, 3), { level: 0, index: 1, start: 128, end: 256 });
    assert.deepEqual(placeOf(8, 300), { level: 1, index: 1, start: 44, end: 45 });
    assert.deepEqual(placeOf(52, 0), { level: 6, index: 0, start: 0, end: 16 });
  });
});

describe('the bytes of a tile', () => {
  it('are its hashes', () => {
    const hashes = leavesOf(3);
    assert.equal(Buffer.from(formatTile(hashes)).toString('hex'), hashes.join(''));
    assert.deepEqual(parseTile(formatTile(hashes), 3), hashes);
  });

  it('TILE_MALFORMED for another width', () => {
    const malformed = refusal('TILE_MALFORMED');
    const bytes = formatTile(leavesOf(3));
    for (const width of [0, 2, 4, 256, -3, 1.5]) assert.throws(() => parseTile(bytes, width), malformed);
    assert.throws(() => parseTile(bytes.subarray(1), 3), malformed);
    assert.throws(() => parseTile(new Uint8Array(257 * 32), 257), malformed);
    assert.throws(() => formatTile([]), malformed);
    assert.throws(() => formatTile(leavesOf(257)), malformed);
    assert.throws(() => formatTile(['00']), malformed);
  });

  it('of a full tile have the hash of the tile above, with every bit', () => {
    const bytes = formatTile(leavesOf(256));
    const root = naiveRoot(entriesOf(256)).toString('hex');
    assert.equal(perfectRoot(parseTile(bytes, 256)), root);
    let bit = 0;
    // Each bit of a hash, in turn of each hash.
    for (const changed of bitChanges(bytes))
      if (bit++ % 257 === 0) assert.notEqual(perfectRoot(parseTile(changed, 256)), root);
  });
});

describe('an entry bundle', () => {
  it('has the length before each entry', () => {
    const bundle = formatEntryBundle([Buffer.from('ab'), new Uint8Array(), new Uint8Array(258)]);
    assert.equal(Buffer.from(bundle.subarray(0, 8)).toString('hex'), '0002616200000102');
    assert.equal(bundle.length, 2 + 2 + 2 + 2 + 258);
  });

  it('is read as it was written, for any entries', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 256 }),
        (entries) => {
          assert.deepEqual(
            parseEntryBundle(formatEntryBundle(entries), entries.length).map((each) => [...each]),
            entries.map((each) => [...each]),
          );
        },
      ),
      { numRuns: 30 },
    );
    assert.equal(
      parseEntryBundle(formatEntryBundle([new Uint8Array(maxEntryBytes)]), 1)[0]?.length,
      maxEntryBytes,
    );
  });

  it('has other leaf hashes, or is refused, with any bit changed', () => {
    const bundle = formatEntryBundle(entriesOf(5));
    const hashes = leavesOf(5).join();
    for (const changed of bitChanges(bundle)) {
      try {
        assert.notEqual(parseEntryBundle(changed, 5).map(entryHash).join(), hashes);
      } catch (error) {
        refusal('BUNDLE_MALFORMED')(error);
      }
    }
  });

  it('BUNDLE_MALFORMED for another number of entries, bytes at the end, or a missing end', () => {
    const malformed = refusal('BUNDLE_MALFORMED');
    const bundle = formatEntryBundle(entriesOf(3));
    for (const width of [0, 2, 4, 257]) assert.throws(() => parseEntryBundle(bundle, width), malformed);
    for (let end = 0; end < bundle.length; end += 1)
      assert.throws(() => parseEntryBundle(bundle.subarray(0, end), 3), malformed);
    assert.throws(() => parseEntryBundle(Uint8Array.of(...bundle, 0), 3), malformed);
    assert.throws(() => formatEntryBundle([]), malformed);
    assert.throws(() => formatEntryBundle(entriesOf(257)), malformed);
    assert.throws(() => formatEntryBundle([new Uint8Array(maxEntryBytes + 1)]), malformed);
  });
});
