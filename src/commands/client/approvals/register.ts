/** `countersign approvals`: the commands that are no operation of the API. Their code is imported when they run. */
import type { Command } from 'commander';
import type { Io } from '../../io.ts';
import { addConnectionOptions } from '../connection-options.ts';

const personOnly =
  '\nOnly a person decides: use a profile of `countersign login` through your browser (or with --code). An agent is refused.';

export function registerApprovals(program: Command, io: Io): void {
  const group =
    program.commands.find((command) => command.name() === 'approvals') ?? program.command('approvals');
  for (const name of ['list', 'show'])
    group.commands
      .find((command) => command.name() === name)
      ?.optionsGroup('Fields:')
      .option(
        '--mine',
        'requests that are addressed to you; with a profile of `countersign login` through your browser',
      );
  registerDecisions(group, io);
  registerRequest(group, io);
}

function registerDecisions(group: Command, io: Io): void {
  const approve = group
    .command('approve')
    .description('approve a request that is addressed to you; you can narrow it')
    .argument('<approvalId>', 'UUID of the approval')
    .option('--scopes <list>', 'only these of the requested scopes, separated by commas (default: all)')
    .option('--access-expires-in <seconds>', 'a shorter access, counted from now')
    .option('--allow-redelegation', 'the agent may pass the access on')
    .option('--json', 'print the approval as JSON');
  addConnectionOptions(approve)
    .addHelpText(
      'after',
      `${personOnly}\nSee first what you approve: countersign approvals show --mine <approvalId>\n\nExample:\n  countersign approvals approve 0192f0c1-7a3e-7c54-9b1d-2f6a8e4d5c3b --access-expires-in 900`,
    )
    .action(async (approvalId, options) =>
      (await import('./decide.ts')).decide(io, 'approve', approvalId, options),
    );

  const deny = group
    .command('deny')
    .description('deny a request that is addressed to you')
    .argument('<approvalId>', 'UUID of the approval')
    .option('--json', 'print the approval as JSON');
  addConnectionOptions(deny)
    .addHelpText(
      'after',
      `${personOnly}\n\nExample:\n  countersign approvals deny 0192f0c1-7a3e-7c54-9b1d-2f6a8e4d5c3b`,
    )
    .action(async (approvalId, options) =>
      (await import('./decide.ts')).decide(io, 'deny', approvalId, options),
    );
}

function registerRequest(group: Command, io: Io): void {
  const request = group
    .command('request')
    .description('ask a person for access, as an agent')
    .requiredOption('--resource <identifier>', 'identifier of the API that the agent will call')
    .requiredOption(
      '--login-hint <person>',
      'who decides: the id of a person, their verified e-mail address, or approvers',
    )
    .option('--scope <scopes>', 'scopes of the API, separated by spaces or commas')
    .option('--details <json>', 'what exactly the agent wants to do: JSON, a file, or - for standard input')
    .option('--message <text>', 'shown to the person, at most 200 characters')
    .option('--expires-in <seconds>', 'until the request lapses (default: 600)')
    .option('--access-expires-in <seconds>', 'how long the access is to last (default: 3600)')
    .option('--wait', 'wait for the decision, and print the access token')
    .option('--json', 'print the answer as JSON');
  addConnectionOptions(request)
    .addHelpText(
      'after',
      `
Needs the credentials of an agent. With --wait: exit code 4 when the request is denied or canceled, 1 without a decision in time. Ctrl-C leaves it open: \`countersign approvals cancel\` takes it back.

Example:
  countersign approvals request --resource https://orders.example.com --scope orders:refund --login-hint approvers --message 'Refund order 7' --details '[{"type":"refund","order":"7","amount":120}]' --wait`,
    )
    .action(async (options) => (await import('./request.ts')).requestApproval(io, options));
}
