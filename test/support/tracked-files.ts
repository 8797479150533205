/** The files of the repository, as git knows them: nothing that a build or an editor has left. */
import { fileURLToPath } from 'node:url';
import { succeedSync } from './child-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export const trackedFiles = (places: readonly string[] = []): string[] =>
  succeedSync('git', ['ls-files', '-z', ...places], { cwd: root })
    .split('\0')
    .filter(Boolean);
