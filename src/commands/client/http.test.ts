/** What a refusal of a server tells the user. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startPeer } from '../../../test/support/peers/http-peer.ts';
import { send } from './http.ts';

async function messageFor(retryAfter: string): Promise<string> {
  const url = await startPeer((_, response) =>
    response
      .writeHead(429, { 'retry-after': retryAfter })
      .end('{"code":"QUOTA_EXCEEDED","message":"Used up."}'),
  );
  const error = await send(url, {}, async () => assert.fail()).catch((thrown: Error) => thrown);
  return error.message;
}

it('a refusal with 429 says when to try again', async () => {
  const before = Date.now();
  const [, time = ''] = /: Used up\.; try again after (\S+Z)$/.exec(await messageFor('7200')) ?? [];
  const wait = Date.parse(time) - before;
  assert.ok(wait >= 7_200_000 && wait < 7_260_000, time);
  for (const unusable of ['x', '-1', '9'.repeat(30)])
    assert.match(await messageFor(unusable), /: Used up\.$/, unusable);
});
