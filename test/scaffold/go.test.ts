import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describeProject } from '../support/scaffold/projects.ts';

await describeProject('go', {
  needs: ['go', 'gofmt'],
  async build({ run }) {
    assert.equal(await run('gofmt', ['-l', '.']), '');
    await run('go', ['vet', './...']);
    await run('go', ['test', './...']);
    await run('go', ['build', '-o', 'agent', '.']);
  },
  program: (folder) => [join(folder, 'agent')],
});
