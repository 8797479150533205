/** Purges millions of rows in chunks: each statement stays far below the statement timeout and holds its locks only briefly. */
const chunkSize = 5_000;

/** Repeats `deleteChunk`, which deletes up to `limit` rows and returns their number, until fewer are left or the signal aborts. */
export async function deleteInChunks(
  signal: AbortSignal,
  deleteChunk: (limit: number) => Promise<number>,
): Promise<void> {
  while (!signal.aborted && (await deleteChunk(chunkSize)) >= chunkSize);
}
