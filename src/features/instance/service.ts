/** What runs here: keys, versions and settings, without secrets. */

import type { KeyRow } from '../../../sdk/typescript/src/audit/trusted-keys.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { PublicKey } from '../../kernel/ports/signer.ts';
import type { InstanceDeps } from './feature.ts';
import type { InstanceState } from './schema.ts';

type SigningKey = InstanceState['signingKeys'][number];

export interface InstanceService {
  describe(): Promise<InstanceState>;
}

export function createInstanceService(deps: InstanceDeps): InstanceService {
  const { clock, signer, runtime, configuration, audit } = deps;
  const startedAt = isoTime(clock);
  return {
    async describe() {
      const { keys, treeHead } = await audit.signatures();
      return {
        ...runtime,
        startedAt,
        signingKeys: keysOf(signer.keyId, signer.publicKeys(), keys),
        audit: {
          linking: audit.linking().status,
          treeHead: treeHead ? { ...treeHead, time: treeHead.at } : null,
        },
        configuration: configuration.map((each) => ({ ...each })),
      };
    },
  };
}

/** The published keys, then those that only the audit log knows. */
function keysOf(activeId: string, published: readonly PublicKey[], logged: readonly KeyRow[]): SigningKey[] {
  /** The oldest statement of a key is its first. */
  const firstTime = (keyId: string) => logged.findLast((entry) => entry.keyId === keyId)?.at ?? null;
  const known = published.map(({ kid, alg }): SigningKey => {
    const signsSince = firstTime(kid);
    const other = signsSince === null ? 'next' : 'previous';
    return {
      keyId: kid,
      algorithm: typeof alg === 'string' ? alg : null,
      status: kid === activeId ? 'active' : other,
      signsSince,
    };
  });
  const retired = [...new Set(logged.map(({ keyId }) => keyId))]
    .filter((keyId) => !published.some(({ kid }) => kid === keyId))
    .map(
      (keyId): SigningKey => ({ keyId, algorithm: null, status: 'retired', signsSince: firstTime(keyId) }),
    );
  return [...known, ...retired];
}
