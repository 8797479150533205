/** `countersign audit archive run`: archives now what the loop of a server would, and says why something cannot be. */
import type { ArchiveSettings } from '../../kernel/config/archive.ts';
import { CommandError } from '../command-error.ts';
import type { Io } from '../io.ts';
import { print, printError, printProgress, quoted } from '../terminal.ts';
import { archiveSettings, type PlaceOptions } from './archive.ts';
import { count } from './describe.ts';
import { openDatabaseLog } from './open.ts';

export async function runArchive(io: Io, options: PlaceOptions): Promise<void> {
  const settings: ArchiveSettings = archiveSettings(io.env, options);
  const { audit, isClockRight, close } = await openDatabaseLog(io, { archive: settings });
  const stopping = new AbortController();
  const ignore = io.onSignal(() => stopping.abort());
  try {
    const otherKey = await audit.otherKey();
    if (otherKey !== undefined)
      throw new CommandError(
        `the audit log is signed with another key (kid ${otherKey}): run this with the keys of the servers`,
      );
    if (!(await isClockRight()))
      throw new CommandError(
        "the clock of this machine is more than five minutes ahead of the database's: set it, since a day that is not over would be closed",
      );
    const result = await audit.archiving?.round({
      signal: stopping.signal,
      onProgress: ({ organizationId, day }, events) =>
        printProgress(io, `${day}  ${organizationId}  ${events} events`),
      onArchived({ day, organizationId, events, bytes }) {
        printProgress(io, '');
        print(io, `${day}  ${organizationId}  ${events} events, ${bytes} bytes`);
      },
      onFailed({ day, organizationId }, reason) {
        printProgress(io, '');
        printError(io, `NOT ARCHIVED: ${day}  ${organizationId}  ${quoted(reason)}`);
      },
    });
    printProgress(io, '');
    if (result === 'busy' || !result)
      throw new CommandError(
        'another process archives now: a server or worker, or this command. After a process was killed, wait two minutes',
      );
    const { archived, failed, waitingFrom } = result;
    printError(io, `${count(archived, 'day')} archived${failed > 0 ? `, ${failed} not` : ''}.`);
    if (waitingFrom !== undefined)
      printError(
        io,
        `The days from ${waitingFrom} wait for the witnesses, at most 24 hours after the end of the day.`,
      );
    if (failed > 0 || stopping.signal.aborted) io.exitCode = 1;
  } finally {
    ignore();
    await close();
  }
}
