/** Redocly, Spectral and Schemathesis, where scripts/openapi-tools-for-tests.sh puts them. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder =
  process.env.OPENAPI_TOOLS_FOR_TESTS ||
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'countersign/openapi-tools-1');

export const toolsAreNeeded = 'Redocly, Spectral and Schemathesis (scripts/openapi-tools-for-tests.sh)';

const programs = {
  redocly: 'node/node_modules/@redocly/cli/bin/cli.js',
  spectral: 'node/node_modules/@stoplight/spectral-cli/dist/index.js',
  schemathesis: 'python/bin/schemathesis',
} as const;

/** Undefined when the tools are not installed. */
export const findTool = (name: keyof typeof programs): string | undefined =>
  existsSync(join(folder, 'complete')) ? join(folder, programs[name]) : undefined;

export const fileHere = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
