/** PostgreSQL: reachable, its version, rights, migrations, clock, durability, connections, and whether our keys fit its data. */
import { describePublicKey } from '../../adapters/keys/keys.ts';
import { type Environment, loadVariable } from '../../kernel/config/config.ts';
import { databaseUrlsOf, shownAddress } from '../../kernel/config/server-urls.ts';
import type { Db } from '../../kernel/data/db.ts';
import { readMigrations } from '../../kernel/data/migrations.ts';
import { areFew } from '../../kernel/data/writing-scopes.ts';
import {
  type Check,
  type CheckContext,
  clockFinding,
  type Finding,
  ok,
  problem,
  runPart,
  warning,
} from './check.ts';
import { encryptionFinding } from './data-encryption.ts';
import { directFinding, explained, hostsFindings, openDatabase } from './database-address.ts';
import * as store from './database-store.ts';
import { shownBytes } from './machine.ts';

/** The version of our tests. */
const testedVersion = 18;

export const databaseCheck: Check = {
  name: 'database',
  remedy:
    'check DATABASE_URL, that PostgreSQL runs and accepts connections from this machine (listen_addresses, pg_hba.conf, firewall), and the password',
  async run(context) {
    const url = loadVariable('databaseUrl', context.env);
    const pooler = loadVariable('databasePooler', context.env);
    const db = openDatabase({ url, pooler });
    try {
      const facts = await store.readFacts(db).catch((error) => {
        throw explained(error);
      });
      // The first query includes the time to connect; this one does not.
      const askedAt = Date.now();
      const { time } = await store.readFacts(db);
      const answeredAt = Date.now();
      const parts: Record<string, () => Promise<Finding[]> | Finding[]> = {
        database: () => [serverFinding(facts, url)],
        'database rights': async () => [rightsFinding(facts, await store.findForeignTables(db))],
        'database clock': () => [
          clockFinding('database clock', Date.parse(time) - answeredAt, answeredAt - askedAt),
        ],
        'database hosts': () => hostsFindings(url),
        'database direct url': () => directFinding(db, context.env),
        'database durability': () => [durabilityFinding(facts, url)],
        'database connections': () => [connectionsFinding(facts, context.env)],
        migrations: () => migrationsFinding(db),
        'audit key': () => auditKeyFinding(db, context),
        'data encryption': () => encryptionFinding(db, context),
        'writing scopes': () => writingScopesFinding(db),
        'database size': () => sizeFinding(db, context),
      };
      const findings: Finding[] = [];
      for (const [name, part] of Object.entries(parts))
        findings.push(
          ...(await runPart(name, 'check that the tables are ours, and the rights of the role', part)),
        );
      return findings;
    } finally {
      await db.close();
    }
  },
};

function serverFinding(facts: store.DatabaseFacts, url: string): Finding {
  const { version, versionNumber, isReadOnly, encoding, role } = facts;
  const found = `PostgreSQL ${version} at ${shownAddress(url)}, as ${role}`;
  if (isReadOnly)
    return problem(
      'database',
      `${found}; it is read-only`,
      'use the address of the primary; a standby, or a server with a full disk, accepts no writes',
    );
  if (encoding !== 'UTF8')
    return problem(
      'database',
      `${found}; its encoding is ${encoding}`,
      'create the database with encoding UTF8',
    );
  if (versionNumber < testedVersion * 10_000)
    return warning(
      'database',
      `${found}; Countersign is tested with ${testedVersion}`,
      `upgrade PostgreSQL to ${testedVersion} or newer`,
    );
  return ok('database', found);
}

function rightsFinding(
  facts: store.DatabaseFacts,
  foreign: readonly { name: string; owner: string }[],
): Finding {
  const { role, schema, mayCreate } = facts;
  const name = 'database rights';
  if (schema === null)
    return problem(
      name,
      'the search_path names no existing schema',
      'create the schema, or change the search_path of the role',
    );
  if (!mayCreate)
    return problem(
      name,
      `${role} may not create tables in the schema ${schema}`,
      `as the owner of the database: grant create, usage on schema ${schema} to ${role}`,
    );
  if (foreign.length > 0)
    return problem(
      name,
      `${foreign.length} tables in the schema ${schema} belong to other roles, such as ${foreign[0]?.name} to ${foreign[0]?.owner}`,
      `as that role: reassign owned by ${foreign[0]?.owner} to ${role}; or use a database of its own for Countersign`,
    );
  return ok(name, `${role} may create tables in the schema ${schema}, and owns all of them`);
}

function durabilityFinding(facts: store.DatabaseFacts, url: string): Finding {
  const { fsync, synchronousCommit, fullPageWrites, synchronousStandbys } = facts;
  const name = 'database durability';
  const off = Object.entries({
    fsync,
    synchronous_commit: synchronousCommit,
    full_page_writes: fullPageWrites,
  }).filter(([, value]) => value === 'off');
  const waitsForStandby = synchronousStandbys !== '' && synchronousCommit !== 'local';
  if (off.length === 0 && !waitsForStandby && databaseUrlsOf(url).length > 1)
    return warning(
      name,
      'a commit does not wait for a standby: a failover can lose the last ones',
      'set synchronous_standby_names, and synchronous_commit to on; docs/operations/high-availability.md',
    );
  if (off.length === 0)
    return ok(name, `a commit waits for the disk (synchronous_commit ${synchronousCommit})`);
  const settings = off.map(([setting]) => setting).join(', ');
  return warning(
    name,
    `${settings} off: a crash can lose tokens' audit events, or the database`,
    `set ${settings} to on in postgresql.conf, or for the role`,
  );
}

function connectionsFinding({ maxConnections }: store.DatabaseFacts, env: Environment): Finding {
  const name = 'database connections';
  const streams = [loadVariable('kafkaBrokers', env), loadVariable('natsUrl', env)].filter(Boolean).length;
  const perProcess = loadVariable('databasePoolSize', env) + 2 + (streams > 0 ? streams + 1 : 0);
  const needed = perProcess * loadVariable('webConcurrency', env);
  if (loadVariable('databasePooler', env) !== 'none')
    return ok(name, `a node with these variables opens up to ${needed} to the pooler (max_client_conn)`);
  const found = `a node with these variables uses up to ${needed} of ${maxConnections}`;
  return needed > maxConnections
    ? problem(name, found, 'raise max_connections, or lower DATABASE_POOL_SIZE or WEB_CONCURRENCY')
    : ok(name, `${found}; add the other nodes`);
}

async function migrationsFinding(db: Db): Promise<Finding[]> {
  const name = 'migrations';
  const known = readMigrations();
  if (!(await store.tableExists(db, 'schema_migrations')))
    return [
      problem(
        name,
        'the database is empty',
        'run `countersign migrate`, or start a server, which does the same',
      ),
    ];
  const history = new Map((await store.readHistory(db)).map((row) => [row.version, row]));
  const missing = known.filter(({ version }) => !history.has(version));
  const changed = known.filter(
    ({ version, checksum }) => history.has(version) && history.get(version)?.checksum !== checksum,
  );
  const newer = [...history.values()].filter(({ version }) => version > known.length);
  if (changed.length > 0)
    return [
      problem(
        name,
        `${namesOf(changed)} in the database differ from the files of this version; a server does not start`,
        'use the version that made this database, or restore a backup; never edit a migration',
      ),
    ];
  if (missing.length > 0)
    return [
      problem(
        name,
        `${missing.length} of ${known.length} are missing: ${namesOf(missing)}`,
        'run `countersign migrate`, or start a server of this version, which does the same',
      ),
    ];
  if (newer.length > 0)
    return [
      warning(
        name,
        `the database has ${newer.length} of a newer version: ${namesOf(newer)}`,
        'use the newer version here too; running an older one is meant for the time of an upgrade',
      ),
    ];
  return [ok(name, `all ${known.length} are applied`)];
}

const namesOf = (migrations: readonly { name: string }[]): string => {
  const names = migrations.slice(0, 3).map(({ name }) => name);
  return migrations.length > 3 ? `${names.join(', ')} and ${migrations.length - 3} more` : names.join(', ');
};

async function auditKeyFinding(db: Db, { env }: CheckContext): Promise<Finding[]> {
  const name = 'audit key';
  if (!(await store.tableExists(db, 'audit_keys'))) return [];
  const signed = await store.findAuditKey(db);
  if (!signed) return [ok(name, 'no key has signed the audit log yet')];
  const { kid } = await describePublicKey(loadVariable('jwtPublicKey', env));
  return [
    signed.keyId === kid
      ? ok(name, `the audit log is signed with JWT_PRIVATE_KEY (kid ${kid})`)
      : warning(
          name,
          `the audit log is signed with the key ${signed.keyId}, JWT_PUBLIC_KEY is ${kid}`,
          'in a rotation this is right until a server starts with the new key; otherwise use the keys of the servers',
        ),
  ];
}

const maxNames = 10;

/** Agents that can change agents, webhooks, APIs or organizations through our API. */
async function writingScopesFinding(db: Db): Promise<Finding[]> {
  const name = 'writing scopes';
  if (!(await store.tableExists(db, 'agents'))) return [];
  const found = await store.readWritingAgents(db, maxNames);
  const { agents, holders, emails } = found;
  if (holders === 0) return [ok(name, 'no agent holds writing scopes of the API')];
  const names = `${emails.join(', ')}${holders > emails.length ? ` and ${holders - emails.length} more` : ''}`;
  const text = `${holders} of ${agents} agents can change agents, webhooks, APIs or organizations: ${names}`;
  return [
    areFew(found)
      ? ok(name, text)
      : warning(
          name,
          text,
          "take the scopes from agents that only call other APIs (`countersign agents update <agentId> --allowed-scopes '[]'`), and set DEFAULT_AGENT_SCOPES=none",
        ),
  ];
}

async function sizeFinding(db: Db, { options }: CheckContext): Promise<Finding[]> {
  if (!options.databaseSize) return [];
  const { bytes } = await store.readSize(db);
  return [ok('database size', shownBytes(bytes))];
}
