/** `countersign doctor`: its options and help. Its code is imported when it runs. */
import type { Command } from 'commander';
import type { Io } from '../io.ts';

export const registerDoctor = (program: Command, io: Io): Command =>
  program
    .command('doctor')
    .description(
      'check the environment of a server: run it where the server runs, with the variables of serve, or in the folder of `countersign dev`. It changes nothing',
    )
    .option('--url <address>', 'test the server at this address instead of BASE_URL')
    .option(
      '--data <folder>',
      'data folder of a `countersign dev` instance, which is checked when the variables of serve are not set',
      '.countersign',
    )
    .option('--database-size', 'also print the size of the database, which takes a while when it is large')
    .option('--json', 'print one JSON object: ok, and findings with name, status, found and remedy')
    .addHelpText(
      'after',
      `
Checks the variables, keys and policies; PostgreSQL (version, rights, migrations, clock, durability, connections) and whether the keys fit its data; Redis, Kafka, NATS, the audit archive, Stripe and the sign-in provider, where configured; the server at BASE_URL (reachable, issuer, published keys, clock, https, proxy headers); Node, open files and disk.

Each finding is ok, warning, problem or skipped, with what to do. No secret is printed. Exit code 1 when there is a problem, else 0.`,
    )
    .action(async (options) => (await import('./doctor.ts')).doctor(io, options));
