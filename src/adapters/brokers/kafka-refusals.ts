/** What the Kafka client's errors say: they come nested, and hold whole responses. */

const codes = { unknownTopic: 3, topicExists: 36 };

interface KafkaError extends Error {
  readonly apiCode?: number;
  readonly path?: string;
  readonly serverErrorMessage?: string | null;
  readonly errors?: readonly KafkaError[];
}

const leaves = (error: KafkaError): readonly KafkaError[] => error.errors?.flatMap(leaves) ?? [error];

/** Whether the broker said no, rather than nothing. */
export const isRefusal = (error: unknown): boolean =>
  isUnknownTopic(error) || leaves(error as KafkaError).some(({ apiCode }) => apiCode !== undefined);

export const isUnknownTopic = (error: unknown): boolean =>
  leaves(error as KafkaError).some(
    ({ apiCode, message }) => apiCode === codes.unknownTopic || /^Unknown topic /.test(message),
  );

/** Of a request to create topics: those that were refused, and why. One that somebody else has made is none of them. */
export function* refusedTopics(error: unknown, topics: readonly string[]): Iterable<[string, string]> {
  for (const leaf of leaves(error as KafkaError)) {
    const index = Number(leaf.path?.match(/^\/topics\/(\d+)/)?.[1] ?? -1);
    const named = topics[index] === undefined ? topics : [topics[index]];
    if (leaf.apiCode !== codes.topicExists)
      for (const topic of named) yield [topic, leaf.serverErrorMessage ?? leaf.message];
  }
}

/** The client's errors hold whole responses; the messages at their bottom say what happened. */
export function reasonOf(error: unknown): string {
  const seen = leaves(error as KafkaError).map(({ message, serverErrorMessage, cause }) => {
    const below = cause instanceof Error ? leaves(cause).map((leaf) => leaf.message) : [];
    // The client stumbles over what newer brokers add to this refusal.
    if (/^Out of bounds/.test(message))
      return 'the answer was a refusal; the leader of a partition has changed';
    return [serverErrorMessage ?? message, ...below].join(': ');
  });
  return [...new Set(seen)].join('; ');
}
