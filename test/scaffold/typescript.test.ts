import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describeProject } from '../support/scaffold/projects.ts';

await describeProject('typescript', {
  needs: ['npm'],
  async build({ folder, run }, first) {
    if (folder === first) await run('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund']);
    else if (!existsSync(join(folder, 'node_modules')))
      symlinkSync(join(first, 'node_modules'), join(folder, 'node_modules'));
    await run('npm', ['run', 'check']);
    await run('npm', ['test']);
  },
  program: () => ['npm', 'start', '--silent', '--'],
});
