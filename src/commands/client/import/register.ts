/** `countersign import`: its options and help. */
import { type Command, Option } from 'commander';
import type { Io } from '../../io.ts';
import { addConnectionOptions } from '../connection-options.ts';

const collect = (value: string, previous: readonly string[] = []): string[] => [...previous, value];

export function registerImport(program: Command, io: Io): void {
  const group = program
    .command('import')
    .description('take over agents, APIs and grants from another product');
  addConnectionOptions(
    group
      .command('keycloak')
      .description('import the service accounts of a Keycloak realm: a dry run, unless --apply is given')
      .argument('<file>', 'realm export of Keycloak (JSON), or - for standard input')
      .requiredOption(
        '--email-domain <domain>',
        'domain of the e-mail addresses that identify the new agents',
      )
      .requiredOption('--owner <owner>', 'team or person who is responsible for the new agents')
      .addOption(
        new Option('--deployment-env <environment>', 'of the new agents')
          .choices(['development', 'staging', 'production'])
          .default('production'),
      )
      .option(
        '--api <client=address>',
        'client id of an API in Keycloak, and its https:// address, which becomes its identifier; may be repeated',
        collect,
      )
      .option('--realm <name>', 'realm to import, when the file has several')
      .option('--only <client>', 'client id of a service account to import; may be repeated', collect)
      .option(
        '--without <client>',
        'client id of a service account or API to leave out; may be repeated',
        collect,
      )
      .option('--write <file>', 'write the result as a new identity file; without --apply, ask no server')
      .option('--force', 'replace that file if it exists')
      .option('--apply', 'show the difference, ask, and make the changes')
      .option('--yes', 'do not ask; needed without a terminal')
      .option('--json', 'print one JSON object'),
  )
    .addHelpText('after', help)
    .action(async (file, options) =>
      (await import('./import-keycloak.ts')).importKeycloak(io, file, options),
    );
}

const help = `
Service accounts become agents, and the clients whose roles or scopes they hold become APIs. Roles become scopes, and role mappings become
grants. Secrets are never imported. The plan and the changes are those of \`countersign apply\`. A dry run that finds a difference exits
with 7. docs/guides/migrate-from-keycloak.md explains the way from Keycloak to Countersign.

Examples:
  countersign import keycloak realm.json --email-domain agents.acme.example --owner platform --api orders-api=https://orders.acme.example
  countersign import keycloak realm.json --email-domain agents.acme.example --owner platform --write identity.yaml`;
