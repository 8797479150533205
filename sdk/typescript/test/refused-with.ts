import assert from 'node:assert/strict';
import { TokenError } from '../src/sdk.ts';

/** For assert.rejects. */
export const refusedWith =
  (status: number, code: string, message = /./) =>
  (error: unknown) => {
    assert.ok(error instanceof TokenError, String(error));
    assert.deepEqual([error.status, error.code], [status, code], error.message);
    assert.match(error.message, message);
    return true;
  };
