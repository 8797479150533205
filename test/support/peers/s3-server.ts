/** A real S3 server for tests, the Versity S3 Gateway on a folder, with two accounts. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { CreateBucketCommand, PutBucketPolicyCommand, S3Client } from '@aws-sdk/client-s3';
import { succeed } from '../child-process.ts';
import { freePort, type Program, startProgram, until } from '../programs.ts';

/** Where scripts/s3-for-tests.sh puts it. */
const programFolder = (): string =>
  process.env.S3_FOR_TESTS ||
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'countersign/versitygw-1.8.0');

export const s3ServerIsNeeded = 'the Versity S3 Gateway (scripts/s3-for-tests.sh)';

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

/** Undefined when it is not installed. `maxFileKilobytes`: writes of larger files fail, as on a full disk. */
export async function startS3Server({
  maxFileKilobytes = 'unlimited',
}: {
  maxFileKilobytes?: number | 'unlimited';
} = {}): Promise<S3Server | undefined> {
  const gateway = join(programFolder(), 'versitygw');
  if (!existsSync(join(programFolder(), 'complete'))) return undefined;
  const root = mkdtempSync(join(tmpdir(), 'countersign-s3-'));
  const [data = '', versions, metadata, accounts] = ['data', 'versions', 'metadata', 'accounts'].map(
    (name) => {
      mkdirSync(join(root, name));
      return join(root, name);
    },
  );
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const args = [
    ...['--port', `127.0.0.1:${port}`, '--keep-alive', '--quiet', `--iam-dir=${accounts}`, 'posix'],
    // Not every file system of tests has the attributes that it would use otherwise.
    ...[`--sidecar=${metadata}`, `--versioning-dir=${versions}`, data],
  ];
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: owner,
  });
  let program: Program;
  const start = async () => {
    program = startProgram(
      'bash',
      ['-c', `ulimit -f ${maxFileKilobytes}; exec "$0" "$@"`, gateway, ...args],
      {
        env: {
          PATH: process.env.PATH,
          ROOT_ACCESS_KEY: owner.accessKeyId,
          ROOT_SECRET_KEY: owner.secretAccessKey,
        },
        cwd: '/',
      },
    );
    const answers = async () => (await fetch(endpoint)).status < 500 || undefined;
    await until('the S3 server', answers, program);
  };
  const kill = async () => {
    program.kill('SIGKILL');
    await program.ended();
  };
  // Registered before the program's own end, and run before it.
  after(async () => {
    client.destroy();
    await kill();
    rmSync(root, { recursive: true, force: true });
  });
  await start();
  await succeed(gateway, [
    ...['admin', '-a', owner.accessKeyId, '-s', owner.secretAccessKey, '--er', endpoint, 'create-user'],
    ...['-a', reader.accessKeyId, '-s', reader.secretAccessKey, '-r', 'user'],
  ]);
  return {
    port,
    endpoint,
    owner,
    reader,
    client,
    async createBucket(Bucket, { objectLock = false } = {}) {
      await client.send(new CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket: objectLock }));
      const allowed = {
        Effect: 'Allow',
        Principal: { AWS: reader.accessKeyId },
        Action: ['s3:GetObject', 's3:ListBucket'],
        Resource: [`arn:aws:s3:::${Bucket}`, `arn:aws:s3:::${Bucket}/*`],
      };
      const Policy = JSON.stringify({ Version: '2012-10-17', Statement: [allowed] });
      await client.send(new PutBucketPolicyCommand({ Bucket, Policy }));
    },
    kill,
    restart: start,
  };
}

/** For the SDK's default chain, which reads the environment of the process. Returns the end of it. */
export function useCredentials({ accessKeyId, secretAccessKey }: Credentials): () => void {
  return setVariables({ AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey });
}

export function setVariables(variables: Record<string, string>): () => void {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}
