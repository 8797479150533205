/**
 * Content that is equal for all clients, such as a script: one buffer in memory, shared by all responses. Node queues a Buffer by
 * reference, but copies a string for every response.
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

const compress = promisify(gzip);

export interface StaticContent {
  /** A function reads it again: of a file, memory keeps the compressed form alone. */
  readonly plain: Buffer | (() => Promise<Buffer>);
  readonly gzipped: Buffer;
  /** Weak: both encodings have the same one. */
  readonly etag: string;
}

const contents = new WeakSet<object>();
const buffers = new WeakSet<object>();

export async function createStaticContent(text: string): Promise<StaticContent> {
  const plain = Buffer.from(text);
  buffers.add(plain);
  return contentOf(plain, await compress(plain));
}

/** Of a file that does not change. `readGzipped` reads the compressed file, if there is one. */
export async function createFileContent(
  read: () => Promise<Buffer>,
  readGzipped?: () => Promise<Buffer>,
): Promise<StaticContent> {
  return contentOf(read, readGzipped ? await readGzipped() : await compress(await read()));
}

function contentOf(plain: StaticContent['plain'], gzipped: Buffer): StaticContent {
  const digest = createHash('sha256').update(gzipped).digest('base64url').slice(0, 22);
  const content = { plain, gzipped, etag: `W/"${digest}"` };
  contents.add(content);
  buffers.add(gzipped);
  return content;
}

export const isStaticContent = (body: unknown): body is StaticContent =>
  typeof body === 'object' && body !== null && contents.has(body);

/** Whether the buffer belongs to static content: a response that sends it needs no memory of its own. */
export const isSharedBuffer = (body: object): boolean => buffers.has(body);

/** Chooses the encoding; 304 when the client has this version. */
export function sendStaticContent(content: StaticContent, { headers }: FastifyRequest, reply: FastifyReply) {
  const vary = [reply.getHeader('vary') ?? [], 'accept-encoding'].flat().join(', ');
  reply.header('etag', content.etag).header('vary', vary);
  if (matchesEtag(headers['if-none-match'], content.etag)) return reply.code(304).send();
  if (acceptsGzip(headers['accept-encoding']))
    return reply.header('content-encoding', 'gzip').send(content.gzipped);
  if (Buffer.isBuffer(content.plain)) return reply.send(content.plain);
  content.plain().then(
    (plain) => reply.send(plain),
    (error) => reply.send(error),
  );
  return reply;
}

/** RFC 9110 §13.1.2: a list, compared without regard to `W/`. */
function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = ifNoneMatch?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  return tags.includes('*') || tags.includes(etag.slice(2));
}

/** RFC 9110 §12.5.3. */
function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  const codings = String(acceptEncoding ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.split(';').map((part) => part.trim()));
  const weightOf = (name: string) => {
    const coding = codings.find(([first]) => first === name);
    return coding && Number(coding.find((part) => part.startsWith('q='))?.slice(2) ?? 1);
  };
  return (weightOf('gzip') ?? weightOf('*') ?? 0) > 0;
}
