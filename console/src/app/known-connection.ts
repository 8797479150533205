/** The connection through which people of this browser sign in: named by the address of the sign-in page, or used here before. */
import { connectionInAddress } from './sign-in-address.ts';

const name = 'countersign-connection';

export function rememberConnection(connectionId: string): void {
  try {
    localStorage.setItem(name, connectionId);
  } catch {
    // A browser without storage: the address names it.
  }
}

export function forgetConnection(): void {
  try {
    localStorage.removeItem(name);
  } catch {
    // There is none.
  }
}

export function knownConnection(): string | undefined {
  try {
    return connectionInAddress() ?? localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}
