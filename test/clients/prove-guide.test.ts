/** docs/guides/prove-what-happened.md, with an archive in a folder. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { skipWithout } from '../support/harness.ts';
import { findProgram } from '../support/programs.ts';
import { folder, runProveGuide } from '../support/scenarios/prove-guide.ts';

it('each command of the guide prints what the guide shows', async (test) => {
  for (const program of ['bash', 'curl']) if (!findProgram(program)) return skipWithout(test, program);
  const archive = join(folder, 'archive');
  mkdirSync(archive);
  await runProveGuide({
    variables: { AUDIT_ARCHIVE_URL: pathToFileURL(archive).href },
    shown: 'file://',
  });
});
