/** The test of a connection: the administrator signs in at its provider, and sees the claims. It begins no session. */
import type { TrustCheck } from './generated.ts';
import { sendJson } from './request.ts';

export interface ConnectionTest {
  readonly connectionId: string;
  /** Of the ID token. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** One for each condition of the connection. */
  readonly checks: readonly TrustCheck[];
  readonly admitted: boolean;
}

const path = '/console/api/connection-tests';

/** The provider's page for the browser. */
export const startConnectionTest = async (connectionId: string): Promise<string> =>
  ((await sendJson('POST', path, { connectionId })) as { url: string }).url;

/** The last test of this browser. */
export const fetchConnectionTest = async (signal?: AbortSignal): Promise<ConnectionTest> =>
  (await sendJson('GET', `${path}/latest`, undefined, { signal })) as ConnectionTest;
