import { join } from 'node:path';
import { describeProject } from '../support/scaffold/projects.ts';

const python = (first: string) => join(first, '.venv', 'bin', 'python');

await describeProject('python', {
  needs: ['python3'],
  async build({ folder, run }, first) {
    if (folder === first) {
      await run('python3', ['-m', 'venv', '.venv']);
      const quietly = ['--quiet', '--disable-pip-version-check'];
      await run(python(first), ['-m', 'pip', 'install', ...quietly, '--editable', '.[dev]']);
    }
    await run(python(first), ['-m', 'ruff', 'check', '.']);
    await run(python(first), ['-m', 'ruff', 'format', '--check', '.']);
    await run(python(first), ['-m', 'pytest', '--quiet']);
  },
  program: (_, first) => [python(first), '-m', 'agent'],
});
