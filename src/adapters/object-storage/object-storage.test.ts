import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { conform } from '../../../test/support/object-storage-suite.ts';
import { openObjectStorage } from './open.ts';

describe('a folder as object storage', () => {
  const parent = mkdtempSync(join(tmpdir(), 'countersign-archive-'));
  after(() => rmSync(parent, { recursive: true, force: true }));
  const openIn = async (name: string) => {
    const folder = join(parent, name);
    mkdirSync(folder);
    return {
      folder,
      storage: await openObjectStorage({ url: pathToFileURL(folder).href }),
      unfinished: async () => filesIn(join(folder, '.unfinished')).length,
    };
  };

  it('conforms', (t) => conform(t, openIn));
});

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
