/**
 * Runs the stages of a Dockerfile without a container engine: each stage has a folder for its root, COPY copies between these
 * folders, and RUN runs in them. So a RUN step must not name an absolute path.
 */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { basename, join, posix } from 'node:path';
import { runSync } from '../../child-process.ts';
import { type Dockerfile, parseAssignments, parseExec, type Stage, substitute } from './dockerfile.ts';

/** The final stage. */
export interface Image {
  /** The folder that stands for `/`. */
  readonly root: string;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly user: string;
  readonly ports: readonly string[];
  readonly stopSignal: string;
  readonly healthcheck: readonly string[];
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
}

interface Builder {
  readonly context: string;
  /** A folder for the roots of all stages. */
  readonly folder: string;
  /** Of the commands: Node and npm as in the base image. */
  readonly env: NodeJS.ProcessEnv;
}

export function buildImage({ stages }: Dockerfile, builder: Builder): Image {
  const images = stages.map((stage) => buildStage(stage, builder));
  const image = images.at(-1);
  assert.ok(image);
  return image;
}

function buildStage({ name, steps }: Stage, { context, folder, env: outer }: Builder): Image {
  const root = join(folder, name);
  mkdirSync(root);
  const args: Record<string, string> = {};
  const env: Record<string, string> = {};
  const labels: Record<string, string> = {};
  const image = {
    root,
    workdir: '/',
    env,
    labels,
    user: '',
    ports: [] as string[],
    stopSignal: '',
    healthcheck: [] as string[],
    entrypoint: [] as string[],
    command: [] as string[],
  };
  for (const { keyword, flags, text: raw } of steps) {
    const text = keyword === 'RUN' ? raw : substitute(raw, { ...args, ...env });
    if (keyword === 'ARG') Object.assign(args, parseAssignments(text));
    if (keyword === 'ENV') Object.assign(env, parseAssignments(text));
    if (keyword === 'LABEL') Object.assign(labels, parseAssignments(text));
    if (keyword === 'WORKDIR') {
      image.workdir = posix.resolve(image.workdir, text);
      mkdirSync(join(root, image.workdir), { recursive: true });
    }
    if (keyword === 'COPY') copy(flags.from ? join(folder, flags.from) : context, root, image.workdir, text);
    if (keyword === 'RUN') run(text, join(root, image.workdir), { ...outer, ...args, ...env });
    if (keyword === 'USER') image.user = text;
    if (keyword === 'EXPOSE') image.ports = text.split(/\s+/);
    if (keyword === 'STOPSIGNAL') image.stopSignal = text;
    if (keyword === 'HEALTHCHECK') image.healthcheck = parseExec(text.replace(/^CMD\s+/, ''));
    if (keyword === 'ENTRYPOINT') image.entrypoint = parseExec(text);
    if (keyword === 'CMD') image.command = parseExec(text);
  }
  return image;
}

/** As COPY: a folder gives its content, files go into a target that ends with a slash. */
function copy(from: string, root: string, workdir: string, text: string): void {
  const words = text.split(/\s+/);
  const target = words.pop() ?? '';
  const intoFolder = target.endsWith('/') || target === '.' || words.length > 1;
  const path = join(root, posix.resolve(workdir, target));
  for (const source of words) {
    const at = join(from, source);
    assert.ok(existsSync(at), `COPY ${text}: there is no ${source}`);
    const into = !statSync(at).isDirectory() && intoFolder ? join(path, basename(source)) : path;
    cpSync(at, into, { recursive: true, verbatimSymlinks: true });
  }
}

function run(command: string, cwd: string, env: NodeJS.ProcessEnv): void {
  assert.doesNotMatch(
    command,
    /(^|[\s"'=])\//,
    'a RUN step with an absolute path would leave the folder of its stage',
  );
  const { status, stdout, stderr } = runSync('/bin/sh', ['-c', command], {
    cwd,
    env,
    timeout: 300_000,
  });
  assert.equal(status, 0, `RUN ${command}\n${stdout}\n${stderr}`);
}
