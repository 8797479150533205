/** The Helm chart, rendered by `helm template`. */
import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { skipWithout } from '../harness.ts';
import { findTool, toolIsNeeded } from './tools.ts';

export const chartFolder = fileURLToPath(new URL('../../../deploy/helm/countersign/', import.meta.url));

/** The example values of the chart, by name. */
export const valueFiles: Readonly<Record<string, string>> = Object.fromEntries(
  globSync('ci/*-values.yaml', { cwd: chartFolder })
    .sort()
    .map((file) => [basename(file, '-values.yaml'), join(chartFolder, file)]),
);

/** A test that needs helm. */
export const helmTest = (title: string, run: () => Promise<void>): void =>
  void it(title, (t) => (findTool('helm') ? run() : skipWithout(t, toolIsNeeded('helm'))));

// biome-ignore lint/suspicious/noExplicitAny: rendered objects have every shape, and their schemas are checked apart
export type KubernetesObject = any;

export interface HelmResult {
  readonly exitCode: number;
  readonly output: string;
}

/** `helm …` without the settings of this machine. */
export function helm(...args: string[]): Promise<HelmResult> {
  const folder = temporaryFolder();
  return new Promise((resolve) => {
    execFile(
      findTool('helm') ?? 'helm',
      args,
      { env: { PATH: process.env.PATH, HOME: folder }, maxBuffer: 16 * 2 ** 20, timeout: 120_000 },
      (error, stdout, stderr) =>
        resolve({
          exitCode: error === null ? 0 : Number(error.code ?? 1),
          output: error === null ? stdout : stdout + stderr,
        }),
    );
  });
}

/** Values as a file, for `helm --values`. */
export function writeValues(values: object): string {
  const file = join(temporaryFolder(), 'values.yaml');
  writeFileSync(file, stringify(values));
  return file;
}

/** The oldest version that the chart supports. A helm that was built without a version assumes an older one. */
export const kubernetes = ['--kube-version', '1.27'];

export const template = (...files: string[]): Promise<HelmResult> =>
  helm(
    'template',
    'trial',
    chartFolder,
    '--namespace',
    'identity',
    ...kubernetes,
    ...files.flatMap((file) => ['--values', file]),
  );

/** The objects that Helm would send to the cluster, with those of `helm test`. */
export async function render(...files: string[]): Promise<KubernetesObject[]> {
  const { exitCode, output } = await template(...files);
  if (exitCode !== 0) throw new Error(output);
  return parseAllDocuments(output)
    .map((document) => {
      if (document.errors[0]) throw document.errors[0];
      return document.toJS();
    })
    .filter((object) => object !== null);
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-helm-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The text that Helm prints after an installation. `helm template` leaves it out, so a copy of the chart has it as an object. */
export async function renderNotes(...args: string[]): Promise<string> {
  const folder = join(temporaryFolder(), 'countersign');
  cpSync(chartFolder, folder, { recursive: true });
  const templates = join(folder, 'templates');
  const notes = readFileSync(join(templates, 'NOTES.txt'), 'utf8');
  writeFileSync(join(templates, '_notes.tpl'), `{{ define "notes" }}${notes}{{ end }}`);
  writeFileSync(join(templates, 'notes.yaml'), 'notes: {{ include "notes" . | toJson }}\n');
  const { exitCode, output } = await helm(
    ...['template', 'trial', folder, '--namespace', 'identity', '--show-only', 'templates/notes.yaml'],
    ...kubernetes,
    ...args,
  );
  if (exitCode !== 0) throw new Error(output);
  return parse(output).notes;
}
