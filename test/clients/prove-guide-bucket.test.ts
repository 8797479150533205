/** docs/guides/prove-what-happened.md, with an archive in a bucket of a real S3 server, which the auditor may only read. */
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { skipWithout } from '../support/harness.ts';
import { s3ServerIsNeeded, startS3Server, useCredentials } from '../support/peers/s3-server.ts';
import { findProgram } from '../support/programs.ts';
import { runProveGuide } from '../support/scenarios/prove-guide.ts';

const region = 'AUDIT_ARCHIVE_REGION=eu-central-1';

it('each command of the guide prints what the guide shows', async (test) => {
  for (const program of ['bash', 'curl']) if (!findProgram(program)) return skipWithout(test, program);
  const server = await startS3Server();
  if (!server) return skipWithout(test, s3ServerIsNeeded);
  // Of the server, in this process. The shell has those of the guide.
  after(useCredentials(server.owner));
  await server.createBucket('example-audit', { objectLock: true });
  let adapted = 0;
  await runProveGuide({
    variables: {
      AUDIT_ARCHIVE_URL: 's3://example-audit/production',
      AUDIT_ARCHIVE_ENDPOINT: server.endpoint,
      AUDIT_ARCHIVE_LOCK_DAYS: '1',
    },
    shown: 's3://',
    adaptPlace(commands) {
      if (commands.includes(region)) adapted += 1;
      return commands.replace(region, `AUDIT_ARCHIVE_ENDPOINT=${server.endpoint}`);
    },
  });
  assert.equal(adapted, 1);
});
