/**
 * Objects as files of a folder. A file is written under another name, made durable, and then linked to its own name, which fails when
 * there is one already. So a file is complete as soon as it has its name, after a crash, too.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, link, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ObjectStorageError } from '../../kernel/ports/object-storage.ts';
import { checkName, checkPrefix, isName } from './names.ts';
import type { CheckedStorage } from './open.ts';

const unfinished = '.unfinished';
/** After that time without a write, an unfinished file belongs to a process that was killed. */
const abandonedMs = 24 * 3_600_000;

type Content = AsyncIterable<Uint8Array>;

export function openFolder(folder: string): CheckedStorage {
  const root = resolve(folder);
  const location = pathToFileURL(root).href;
  const fileOf = (name: string) => join(root, ...name.split('/'));

  /** Of the system; errors of the content, and the reason of an abort, stay as they are. */
  const run = async <T>(doing: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw isSystemError(error) ? failure(`${location}: ${doing} failed`, error) : error;
    }
  };

  /** Else an archive whose disk is not mounted would look empty, or would be written beside it. */
  const checkRoot = async () => {
    const isFolder = await run('opening the folder', async () => (await stat(root)).isDirectory());
    if (!isFolder) throw new ObjectStorageError(`${location} is no folder: correct AUDIT_ARCHIVE_URL`);
  };

  const removeAbandoned = async () => {
    for (const file of await readdir(join(root, unfinished))) {
      const path = join(root, unfinished, file);
      const found = await stat(path).catch(() => undefined);
      if (found && Date.now() - found.mtimeMs > abandonedMs) await rm(path, { force: true });
    }
  };

  /** The result of `publish`, for a file with this content that has no name in the archive yet. */
  const withFile = async <T>(
    doing: string,
    content: Content,
    publish: (path: string) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> => {
    const path = join(root, unfinished, randomUUID());
    const file = await run(doing, async () => {
      await mkdir(join(root, unfinished), { mode: folderMode }).catch(unlessExists);
      await removeAbandoned();
      return open(path, 'wx', fileMode);
    });
    try {
      try {
        await writeAll(file, content, (work) => run(doing, work), signal);
      } finally {
        await file.close();
      }
      return await run(doing, () => publish(path));
    } finally {
      await rm(path, { force: true }).catch(() => {});
    }
  };

  const create: CheckedStorage['create'] = async (name, content, { signal }) => {
    checkName(name);
    signal?.throwIfAborted();
    const target = fileOf(name);
    const publish = async (path: string) => {
      await mkdir(dirname(target), { recursive: true, mode: folderMode });
      const created = await link(path, target).then(() => true, unlessExists);
      // Even if another process made it: that may have ended before this step.
      for (let folder = dirname(target); folder.length >= root.length; folder = dirname(folder)) {
        await syncFolder(folder);
        if (folder === dirname(folder)) break;
      }
      return created ? 'created' : 'exists';
    };
    return withFile(`writing ${name}`, content, publish, signal);
  };

  const read: CheckedStorage['read'] = async (name, signal) => {
    checkName(name);
    signal?.throwIfAborted();
    const doing = `reading ${name}`;
    const found = await run(doing, () => unlessMissing(stat(fileOf(name))));
    if (!found?.isFile()) {
      await checkRoot();
      return undefined;
    }
    // Opened when it is read: a content that is not read holds nothing.
    const pieces = async function* () {
      const file = await run(doing, () => open(fileOf(name)));
      try {
        for (;;) {
          signal?.throwIfAborted();
          const { bytesRead, buffer } = await run(doing, () => file.read(Buffer.allocUnsafe(readBytes)));
          if (bytesRead === 0) return;
          yield buffer.subarray(0, bytesRead);
        }
      } finally {
        await file.close();
      }
    };
    return { bytes: found.size, content: pieces() };
  };

  async function* walk(folder: string, prefix: string, signal?: AbortSignal): AsyncGenerator<Found> {
    signal?.throwIfAborted();
    const doing = `listing ${folder}`;
    const entries = await run(doing, () =>
      unlessMissing(readdir(join(root, folder), { withFileTypes: true })),
    );
    const names = (entries ?? [])
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`)
      .filter((path) => isName(path.replace(/\/$/, '')))
      .filter((path) => path.startsWith(prefix) || (path.endsWith('/') && prefix.startsWith(path)))
      .sort();
    for (const path of names) {
      if (path.endsWith('/')) yield* walk(path, prefix, signal);
      else {
        const found = await run(doing, () => unlessMissing(stat(fileOf(path))));
        if (found) yield { name: path, bytes: found.size };
      }
    }
  }

  return {
    location,
    create,
    read,
    async *list(prefix, signal) {
      checkPrefix(prefix);
      await checkRoot();
      yield* walk(prefix.slice(0, prefix.lastIndexOf('/') + 1), prefix, signal);
    },
    async check() {
      const doing = 'writing a file for a moment';
      await withFile(doing, once(Buffer.from('countersign doctor\n')), async (path) => {
        const linked = `${path}.link`;
        await link(path, linked).finally(() => rm(linked, { force: true }));
      });
      for await (const _ of walk('', '')) break;
      return ['listed', 'wrote a file, linked it, and removed both'];
    },
    async close() {},
  };
}

type Found = { readonly name: string; readonly bytes: number };

const readBytes = 256 * 1024;
/** Objects are not changed, so the right to do so is not given. */
const fileMode = 0o440;
const folderMode = 0o750;

async function writeAll(
  file: FileHandle,
  content: Content,
  run: (work: () => Promise<void>) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  for await (const piece of content) {
    signal?.throwIfAborted();
    await run(() => file.writeFile(piece));
  }
  signal?.throwIfAborted();
  await run(() => file.sync());
}

async function syncFolder(path: string): Promise<void> {
  // Windows has no such operation.
  if (process.platform === 'win32') return;
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function* once(bytes: Uint8Array): Content {
  yield bytes;
}

function unlessExists(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'EEXIST') throw error;
}

const unlessMissing = <T>(found: Promise<T>): Promise<T | undefined> =>
  found.catch((error) => {
    if (['ENOENT', 'ENOTDIR'].includes(error.code)) return undefined;
    throw error;
  });

const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && 'code' in error;

const remedies: Readonly<Record<string, string>> = {
  ENOENT: 'the folder does not exist: create it, or mount its disk',
  ENOTDIR: 'a part of the path is no folder: correct AUDIT_ARCHIVE_URL',
  EACCES: 'this user may not: give it the rights to read and write the folder and all below it',
  EPERM: 'not permitted: give this user the rights, on a file system with hard links',
  EROFS:
    'the file system is read-only: mount it writable, or name the folder in ReadWritePaths= of the systemd unit',
  ENOSPC: 'the disk is full: free some space, or enlarge it',
  EDQUOT: 'the quota of this user is used up: enlarge it',
  EFBIG: 'the file would be larger than the limit of the process or of the file system: raise it',
  EMFILE: 'this process has too many open files: raise `ulimit -n`',
  ENOTSUP: 'the file system has no hard links: use one that has',
  ENOSYS: 'the file system has no hard links: use one that has',
  EXDEV: 'a folder below is on another file system: all of the archive must be on one',
  EIO: 'the disk or the network file system reports an error: check the log of the system',
  ESTALE: 'the network file system was mounted again: restart the process',
};

const failure = (message: string, { code = '' }: NodeJS.ErrnoException) =>
  new ObjectStorageError(`${message}: ${remedies[code] ? `${remedies[code]} ` : ''}(${code})`);
