import { existsSync } from 'node:fs';

/** Sources are in src/, the build is in dist/src/, one folder deeper. */
const parent = new URL('../../', import.meta.url);

/** The folder of this package: package.json, migrations, policies and the other files that it ships. */
export const packageRoot: URL = existsSync(new URL('package.json', parent)) ? parent : new URL('../', parent);
