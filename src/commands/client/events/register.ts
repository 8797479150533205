/** `countersign audit tail` and `countersign listen`: their options and help. Their code is imported when they run. */
import type { Command } from 'commander';
import type { Io } from '../../io.ts';
import { addConnectionOptions } from '../connection-options.ts';

export function registerAuditTail(program: Command, io: Io): void {
  const audit = program.commands.find((command) => command.name() === 'audit') ?? program.command('audit');
  const tail = audit
    .command('tail')
    .description('print the audit events of your organization while they happen, one line each; Ctrl-C stops')
    .option(
      '--action <type>',
      'only events of this type, such as token.issued, or of a group, such as "agent.*"',
    )
    .option('--agent <id>', 'only events about this agent, or by it; id, e-mail address or display name')
    .option('--outcome <outcome>', 'only events with this outcome: success or failure')
    .option(
      '--since <time>',
      'print earlier events first: from 30s, 10m, 2h or 1d ago, or from a time such as 2030-01-31T12:00:00Z',
    )
    .option('--json', 'print each event as one line of JSON, as GET /audit/{eventId} answers it');
  addConnectionOptions(tail)
    .addHelpText(
      'after',
      '\nNeeds the scope audit:read. When the server is unreachable, the command says so, waits, and continues after the last event that it printed: none is lost or repeated.\nExit code 0 after Ctrl-C. The lines go to standard output, all notes to standard error.\n\nExamples:\n  countersign audit tail --outcome failure\n  countersign audit tail --since 1h --action "credential.*" --json',
    )
    .action(async (options) => (await import('./audit-tail.ts')).tailAudit(io, options));
}

export function registerListen(program: Command, io: Io): void {
  const listen = program
    .command('listen')
    .description(
      'deliver the events of your organization to an address on your machine, signed as webhooks are, to develop a receiver; Ctrl-C stops',
    )
    .option('--forward-to <url>', 'address of your receiver, e.g. http://localhost:9000/hook')
    .option(
      '--events <types>',
      'only these events, separated by commas, e.g. agent.created,credential.*  (default: all that webhooks deliver)',
    )
    .option('--replay <count>', `first deliver the last events again, at most 100`)
    .option('--secret-stdin', 'sign with the secret on standard input, e.g. that of a real subscription')
    .option('--print-secret', 'print the signing secret alone, and exit');
  addConnectionOptions(listen)
    .addHelpText(
      'after',
      `
Needs the scope audit:read. No subscription is made, and the server needs no way to reach your machine.

Each delivery has the headers, the body and the signature of a webhook. Events come one after the other, in order. The receiver must answer with 2xx within 10 seconds; otherwise the same delivery is sent again, four times in all, while later events wait. Redirects are not followed.

The signing secret is made once for each server and organization and stored beside the profiles, so it stays the same from run to run. The command shows it when it is new; later --print-secret prints it.
When the server is unreachable, the command waits and continues after the last event. Exit code 0 after Ctrl-C.

Examples:
  countersign listen --forward-to http://localhost:9000/hook --replay 5
  export SIGNING_SECRET=$(countersign listen --print-secret)`,
    )
    .action(async (options) => (await import('./listen.ts')).listenTo(io, options));
}
