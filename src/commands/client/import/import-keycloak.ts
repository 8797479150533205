/** `countersign import keycloak`: a realm export becomes an identity file, which is planned and applied as `apply` does it. */
import { writeYaml } from '../../../adapters/yaml.ts';
import { resourceIdentifier } from '../../../contract/patterns.ts';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { print, printError, printJsonLine, quoted } from '../../terminal.ts';
import type { AccountOptions } from '../account.ts';
import { applyIdentity } from '../apply/apply.ts';
import { header, writeIdentityFile } from '../apply/export.ts';
import { readIdentity } from '../apply/file/identity-file.ts';
import { readText } from '../apply/file/sources.ts';
import { identityOf } from './keycloak/identity.ts';
import { createLeftOut, type LeftOut } from './keycloak/left-out.ts';
import { readRealm } from './keycloak/realm.ts';

interface ImportKeycloakOptions extends AccountOptions {
  readonly emailDomain: string;
  readonly owner: string;
  readonly deploymentEnv: string;
  readonly api?: readonly string[];
  readonly realm?: string;
  readonly only?: readonly string[];
  readonly without?: readonly string[];
  readonly write?: string;
  readonly force?: boolean;
  readonly apply?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** Of an export with some ten thousand users. */
const maxBytes = 64 * 1024 * 1024;
const identifierForm = new RegExp(resourceIdentifier);

export async function importKeycloak(io: Io, file: string, options: ImportKeycloakOptions): Promise<void> {
  const { write, force = false, json = false } = options;
  const leftOut = createLeftOut();
  const apis = apisOf(options.api ?? []);
  const identity = identityOf(
    readRealm(await readText(io, file, maxBytes), options.realm),
    {
      ...options,
      apis,
      only: options.only && new Set(options.only),
      without: new Set(options.without),
    },
    leftOut,
  );
  const text = `${header}${writeYaml(identity)}`;
  const checked = readIdentity([{ name: write ?? 'the identity file of this import', text }]);
  if (!json) printLeftOut(io, leftOut);
  if (write !== undefined) writeIdentityFile(write, text, force);
  if (write !== undefined && !options.apply) {
    if (json) printJsonLine(io, { file: write, leftOut: leftOut.all });
    else print(io, `${write} written. See the difference with: countersign apply -f ${write} --plan`);
    return;
  }
  await applyIdentity(
    io,
    checked,
    { ...options, plan: !options.apply },
    { command: 'import', readsInput: file === '-', report: { leftOut: leftOut.all } },
  );
  if (!options.apply && !json)
    printError(io, 'This is a dry run: nothing was changed. --apply makes the changes.');
}

/** An identifier may have `=` in its path, and a client id may have one, too: the address begins after the last `=http`. */
function apisOf(options: readonly string[]): Map<string, string> {
  const apis = new Map<string, string>();
  for (const option of options) {
    const [, api, identifier] = /^(.+?)=(https?:.*)$/s.exec(option) ?? [];
    if (api === undefined || identifier === undefined)
      throw new CommandError(
        `--api ${quoted(option)}: must be a client id and an address, such as orders-api=https://orders.example`,
        exitCodes.usage,
      );
    if (!identifierForm.test(identifier) || !URL.canParse(identifier))
      throw new CommandError(
        `--api ${quoted(option)}: ${quoted(identifier)} must be an absolute https:// URI in canonical form, without fragment, query or credentials`,
        exitCodes.usage,
      );
    if (apis.has(api)) throw new CommandError(`--api names ${quoted(api)} twice`, exitCodes.usage);
    apis.set(api, identifier);
  }
  return apis;
}

function printLeftOut(io: Io, { all }: LeftOut): void {
  print(io, 'Secrets are not imported: every agent gets new credentials.');
  if (all.length > 0) print(io, 'Left out:');
  for (const { what, why } of all) print(io, `  ${quoted(what)}: ${quoted(why)}`);
  print(io, '');
}
