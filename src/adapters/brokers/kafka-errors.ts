/** Reads the Kafka client's errors, which are nested and contain whole responses. */

const codes = { unknownTopic: 3, topicExists: 36 };

interface KafkaError extends Error {
  readonly apiCode?: number;
  readonly path?: string;
  readonly serverErrorMessage?: string | null;
  readonly errors?: readonly KafkaError[];
}

const leaves = (error: KafkaError): readonly KafkaError[] => error.errors?.flatMap(leaves) ?? [error];

/** Whether the broker answered with an error, as opposed to no answer. */
export const isBrokerError = (error: unknown): boolean =>
  isUnknownTopic(error) || leaves(error as KafkaError).some(({ apiCode }) => apiCode !== undefined);

export const isUnknownTopic = (error: unknown): boolean =>
  leaves(error as KafkaError).some(
    ({ apiCode, message }) => apiCode === codes.unknownTopic || /^Unknown topic /.test(message),
  );

/** The topics that a create request could not create, with the reason. A topic that exists already is not one of them. */
export function* failedTopics(error: unknown, topics: readonly string[]): Iterable<[string, string]> {
  for (const leaf of leaves(error as KafkaError)) {
    const index = Number(leaf.path?.match(/^\/topics\/(\d+)/)?.[1] ?? -1);
    const named = topics[index] === undefined ? topics : [topics[index]];
    if (leaf.apiCode !== codes.topicExists)
      for (const topic of named) yield [topic, leaf.serverErrorMessage ?? leaf.message];
  }
}

/** The messages of the innermost errors. */
export function reasonOf(error: unknown): string {
  const messages = leaves(error as KafkaError).map(({ message, serverErrorMessage, cause }) => {
    const causes = cause instanceof Error ? leaves(cause).map((leaf) => leaf.message) : [];
    // The client cannot parse a field that newer brokers add to this error.
    if (/^Out of bounds/.test(message))
      return 'the broker answered with an error; the leader of a partition has changed';
    return [serverErrorMessage ?? message, ...causes].join(': ');
  });
  return [...new Set(messages)].join('; ');
}
