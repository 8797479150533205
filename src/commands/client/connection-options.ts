/** The options with which a command that is a client of a server finds it; account.ts explains the order in which they count. */
import type { Command } from 'commander';

/** Where `countersign dev` writes its operator's credentials, unless told otherwise. */
export const defaultDataFolder = '.countersign';

export const addConnectionOptions = (command: Command): Command =>
  command
    .option(
      '--profile <name>',
      'profile to use, of those that `countersign login` stored (default: the current one)',
    )
    .option(
      '--url <address>',
      'address of the server, e.g. https://id.example.com (default: COUNTERSIGN_URL, else the one of the profile)',
    )
    .option('--data <folder>', 'data folder of a `countersign dev` instance', defaultDataFolder);
