/** This machine: Node, open files, time zone, disk. */
import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { type Check, type Finding, ok, problem, warning } from './check.ts';

/** As in bin/countersign.js, which refuses an older one. `engines` of package.json is what the launcher itself needs. */
const oldestNode = 24;

/** A serving process needs one for each connection of a client, and some for the database. */
const neededFiles = 4_096;
const lowDisk = { warning: 1024 ** 3, problem: 100 * 1024 ** 2 };

export const nodeCheck: Check = {
  name: 'node',
  remedy: 'install a supported version of Node.js',
  run() {
    const found = `Node.js ${process.versions.node} (needed: >=${oldestNode})`;
    return [
      Number.parseInt(process.versions.node, 10) < oldestNode
        ? problem('node', found, `install Node.js ${oldestNode} or newer`)
        : ok('node', found),
    ];
  },
};

export const limitsCheck: Check = {
  name: 'open files',
  remedy: 'check `ulimit -n`',
  run: () => [
    openFilesFinding(openFilesLimit()),
    ok(
      'time zone',
      `${Intl.DateTimeFormat().resolvedOptions().timeZone}; tokens, events and logs use UTC in any zone`,
    ),
  ],
};

/** Undefined when the system has no limit, or does not say. */
function openFilesLimit(): number | undefined {
  // Otherwise it looks up the names of all network interfaces.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as {
    userLimits?: { open_files?: { soft?: unknown } };
  };
  const limit = Number(userLimits?.open_files?.soft);
  return Number.isNaN(limit) ? undefined : limit;
}

function openFilesFinding(limit: number | undefined): Finding {
  const name = 'open files';
  if (limit === undefined) return ok(name, 'no limit');
  const found = `a process started here may have ${limit} open files and connections`;
  return limit < neededFiles
    ? warning(
        name,
        found,
        `raise it to ${neededFiles} or more: \`ulimit -n\`, or LimitNOFILE= of the systemd unit`,
      )
    : ok(name, found);
}

export const diskCheck: Check = {
  name: 'disk',
  remedy: 'check that the folder exists and that this user may write to it',
  async run({ options }) {
    const findings = [await diskFinding('disk (temporary files)', tmpdir())];
    const data = resolve(options.data);
    const hasData = await access(data).then(
      () => true,
      () => false,
    );
    // Only `countersign dev` has a data folder; the data of `serve` is in PostgreSQL.
    if (hasData) findings.push(await diskFinding('disk (data folder)', data));
    return findings;
  },
};

async function diskFinding(name: string, folder: string): Promise<Finding> {
  try {
    // Nothing is written.
    await access(folder, constants.W_OK);
  } catch (error) {
    return problem(
      name,
      `${folder} cannot be written to (${(error as NodeJS.ErrnoException).code})`,
      `give this user the right to write there: chown or chmod ${folder}`,
    );
  }
  const { bavail, bsize, ffree, files } = await statfs(folder);
  const free = bavail * bsize;
  const found = `${shownBytes(free)} free in ${folder}`;
  const remedy = 'free some space, or move the folder to a larger disk';
  if (free < lowDisk.problem) return problem(name, found, remedy);
  if (free < lowDisk.warning) return warning(name, found, remedy);
  if (files > 0 && ffree < 1_000)
    return warning(name, `only ${ffree} more files can be made in ${folder}`, remedy);
  return ok(name, found);
}

export function shownBytes(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  const step = bytes < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}
