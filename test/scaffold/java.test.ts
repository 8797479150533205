import { join } from 'node:path';
import { describeProject } from '../support/scaffold/projects.ts';

/** For processes that end before the optimizing compiler and parallel collection would pay. */
const shortLived = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

await describeProject('java', {
  needs: ['java', 'mvn'],
  async build({ run }) {
    const flags = shortLived.join(' ');
    await run('mvn', ['--batch-mode', '--quiet', `-DargLine=${flags}`, 'package'], { MAVEN_OPTS: flags });
  },
  program: (folder) => ['java', ...shortLived, '-jar', join(folder, 'target', 'agent.jar')],
});
