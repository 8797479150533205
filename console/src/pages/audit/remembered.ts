/**
 * The newest checkpoint that this browser has verified, for each organization. If the end of the log is removed together with its
 * checkpoints, the rest is consistent: only someone who has seen more can tell.
 */
import type { RememberedCheckpoint } from './proof/evidence.ts';

const keyOf = (organizationId: string) => `countersign.audit.${organizationId}`;

export function readRemembered(organizationId: string): RememberedCheckpoint | undefined {
  try {
    const value = JSON.parse(localStorage.getItem(keyOf(organizationId)) ?? 'null');
    const isComplete =
      Number.isInteger(value?.number) && Number.isInteger(value.size) && typeof value.hash === 'string';
    return isComplete ? value : undefined;
  } catch {
    return undefined;
  }
}

export function remember(organizationId: string, checkpoint: RememberedCheckpoint): void {
  try {
    localStorage.setItem(keyOf(organizationId), JSON.stringify(checkpoint));
  } catch {
    // A browser without storage verifies all the same.
  }
}

export function forget(organizationId: string): void {
  try {
    localStorage.removeItem(keyOf(organizationId));
  } catch {
    // Nothing is remembered.
  }
}
