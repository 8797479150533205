import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, describeProject } from '../support/scaffold/projects.ts';

await describeProject('rust', {
  needs: ['cargo', 'rustfmt'],
  async build({ folder, run }) {
    const target = cacheFolder('rust');
    const env = { CARGO_TARGET_DIR: target, CARGO_INCREMENTAL: '0', CARGO_PROFILE_DEV_DEBUG: '0' };
    await run('cargo', ['fmt', '--check']);
    await run('cargo', ['test', '--quiet'], env);
    await run('cargo', ['build', '--quiet'], env);
    copyFileSync(join(target, 'debug', 'agent'), join(folder, 'agent'));
  },
  program: (folder) => [join(folder, 'agent')],
});
