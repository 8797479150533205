import type { Clock } from '../../kernel/clock.ts';
import type { ShownVariable } from '../../kernel/config/shown-values.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Signer } from '../../kernel/ports/signer.ts';

/** The evidence of the audit log, over all organizations. */
export interface AuditEvidence {
  /** The keys that have signed the log, newest first. */
  readonly keys: readonly { readonly keyId: string; readonly time: string }[];
  /** The newest signature: over the checkpoints of `size` organizations. */
  readonly treeHead:
    | { readonly number: number; readonly time: string; readonly size: number; readonly keyId: string }
    | undefined;
  readonly linking: 'ok' | 'delayed';
}

export interface InstanceDeps {
  readonly clock: Clock;
  readonly signer: Pick<Signer, 'keyId' | 'publicKeys'>;
  readonly runtime: { readonly version: string; readonly node: string };
  /** Without secrets. */
  readonly configuration: readonly ShownVariable[];
  auditEvidence(): Promise<AuditEvidence>;
}

export interface Instance {
  readonly routes: readonly RouteEntry[];
}
