/** What a browser that cannot check signatures says, instead of a verdict. */
import { UnsupportedAlgorithm } from '../../../../../sdk/typescript/src/audit/statement-reader.ts';

export interface Unproven {
  readonly status: 'unproven';
  readonly reason: string;
}

export async function unlessUnsupported<Verdict>(
  verify: () => Promise<Verdict>,
): Promise<Verdict | Unproven> {
  if (!globalThis.crypto?.subtle)
    return {
      status: 'unproven',
      reason: 'this page was not opened over https, so the browser offers no Web Crypto',
    };
  try {
    return await verify();
  } catch (error) {
    if (error instanceof UnsupportedAlgorithm)
      return { status: 'unproven', reason: `this browser ${error.message}` };
    throw error;
  }
}
