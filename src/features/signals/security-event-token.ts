/** Security event tokens (RFC 8417, SSF §4): signed when they are sent, so that they carry a key that receivers know. */
import type { Clock } from '../../kernel/clock.ts';
import { createFairQueue } from '../../kernel/concurrency/fair-queue.ts';
import { createLru } from '../../kernel/data/lru.ts';
import type { Signer } from '../../kernel/ports/signer.ts';
import { verification } from './event-types.ts';
import type { StoredSignal } from './signals-store.ts';
import type { StoredStream } from './streams-store.ts';

export type SignSignal = (
  stream: Pick<StoredStream, 'agentId' | 'organizationId'>,
  signal: StoredSignal,
) => Promise<string>;

/** In characters: about 10,000 tokens. */
const maxSignedText = 12 * 1024 * 1024;
/** Access tokens are signed by the same threads. The longest queue of an organization: ten answers of the largest size. */
const signing = { concurrency: 2, perKey: 1, maxQueue: 5_000 } as const;

/**
 * A receiver that acknowledges nothing gets the same signals with each poll, so each is signed once, for all streams of its agent.
 * Organizations take turns.
 */
export function createSignSignal({ clock, signer }: { clock: Clock; signer: Signer }): SignSignal {
  const signed = createLru<string>(maxSignedText, (token) => token.length);
  const inProgress = new Map<string, Promise<string>>();
  const queue = createFairQueue(signing);

  const sign: SignSignal = ({ agentId }, { signalId, eventType, subject, details, occurredAt }) =>
    signer.sign(
      {
        iat: Math.floor(clock.now() / 1000),
        jti: signalId,
        aud: agentId,
        sub_id: subject,
        events: {
          // Receivers compare the time with the times of tokens, to the millisecond.
          [eventType]:
            eventType === verification
              ? details
              : { event_timestamp: Date.parse(occurredAt) / 1000, ...details },
        },
      },
      'secevent+jwt',
    );

  return async (stream, signal) => {
    const key = `${stream.agentId}.${signal.signalId}`;
    const known = signed.get(key) ?? inProgress.get(key);
    if (known !== undefined) return known;
    const signature = queue(stream.organizationId, () => sign(stream, signal));
    inProgress.set(key, signature);
    try {
      const token = await signature;
      signed.set(key, token);
      return token;
    } finally {
      inProgress.delete(key);
    }
  };
}
