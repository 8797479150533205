import { join } from 'node:path';
import { describeProject } from '../support/scaffold/projects.ts';

await describeProject('java', {
  needs: ['java', 'mvn'],
  async build({ run }) {
    await run('mvn', ['--batch-mode', '--quiet', 'package']);
  },
  program: (folder) => ['java', '-XX:TieredStopAtLevel=1', '-jar', join(folder, 'target', 'agent.jar')],
});
