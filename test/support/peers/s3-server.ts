/** A real S3 server for tests: SeaweedFS, with two accounts. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { freePort, type Program, startProgram, until } from '../programs.ts';

/** Where scripts/s3-for-tests.sh puts it. */
const folder = (): string =>
  process.env.S3_FOR_TESTS ||
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'countersign/seaweedfs-4.48');

export const s3ServerIsNeeded = 'SeaweedFS (scripts/s3-for-tests.sh)';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface S3Server {
  readonly port: number;
  readonly endpoint: string;
  /** May do everything. */
  readonly owner: Credentials;
  /** May read and list. */
  readonly reader: Credentials;
  /** Of the owner, for requests past our adapter. */
  readonly client: S3Client;
  createBucket(name: string, options?: { objectLock?: boolean }): Promise<void>;
  /** Without time to write anything. */
  kill(): Promise<void>;
  /** Starts it again with its data. */
  restart(): Promise<void>;
}

const owner = { accessKeyId: 'owner', secretAccessKey: 'secret-of-the-owner' };
const reader = { accessKeyId: 'reader', secretAccessKey: 'secret-of-the-reader' };

/** Undefined when it is not installed. */
export async function startS3Server(): Promise<S3Server | undefined> {
  const path = join(folder(), 'weed');
  if (!existsSync(join(folder(), 'complete'))) return undefined;
  const data = mkdtempSync(join(tmpdir(), 'countersign-s3-'));
  const accounts = join(data, 'accounts.json');
  const identities = [
    { name: 'owner', credentials: [owner], actions: ['Admin', 'Read', 'Write', 'List'] },
    { name: 'reader', credentials: [reader], actions: ['Read', 'List'] },
  ].map(({ credentials: [{ accessKeyId, secretAccessKey } = owner], ...identity }) => ({
    ...identity,
    credentials: [{ accessKey: accessKeyId, secretKey: secretAccessKey }],
  }));
  writeFileSync(accounts, JSON.stringify({ identities }));

  const parts = ['s3', 'filer', 'master', 'volume'] as const;
  const ports: number[] = [];
  for (const _ of [...parts, ...parts]) ports.push(await freePort());
  const port = ports[0] ?? 0;
  const args = [
    'server',
    `-dir=${data}`,
    '-ip=127.0.0.1',
    '-ip.bind=127.0.0.1',
    '-s3',
    `-s3.config=${accounts}`,
    '-s3.port.iceberg=0',
    '-s3.port.lance=0',
    ...parts.flatMap((part, index) => [
      `-${part}.port=${ports[index]}`,
      `-${part}.port.grpc=${ports[index + parts.length]}`,
    ]),
    '-master.telemetry=false',
    // A bucket takes several volumes; only what is written takes space.
    '-master.volumeSizeLimitMB=64',
    '-volume.max=200',
  ];
  let program: Program;
  const endpoint = `http://127.0.0.1:${port}`;
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: owner,
    // It answers with errors until all its parts are ready.
    maxAttempts: 20,
  });
  const start = async () => {
    program = startProgram(path, args, { env: { PATH: process.env.PATH, TMPDIR: data }, cwd: data });
    await until('SeaweedFS', async () => (await fetch(endpoint)).status < 500 || undefined, program);
  };
  const kill = async () => {
    program.kill('SIGKILL');
    await program.ended();
  };
  // Registered before the program's own end, and run before it.
  after(async () => {
    client.destroy();
    await kill();
    rmSync(data, { recursive: true, force: true });
    for (const each of ports)
      for (const part of parts)
        for (const kind of ['', '-grpc'])
          rmSync(`/tmp/seaweedfs-${part}${kind}-${each}.sock`, { force: true });
  });
  await start();
  return {
    port,
    endpoint,
    owner,
    reader,
    client,
    async createBucket(Bucket, { objectLock = false } = {}) {
      await client.send(new CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket: objectLock }));
    },
    kill,
    restart: start,
  };
}

/** For the SDK's default chain, which reads the environment of the process. Returns the end of it. */
export function useCredentials({ accessKeyId, secretAccessKey }: Credentials): () => void {
  const variables = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}
