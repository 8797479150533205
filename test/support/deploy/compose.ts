/** The files of deploy/compose*.yaml, interpolated with their defaults and merged as Compose merges them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const deployFolder = fileURLToPath(new URL('../../../deploy', import.meta.url));

export interface Mount {
  readonly source: string;
  readonly target: string;
}

export interface ComposeService {
  readonly image: string;
  readonly user?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly (string | Mount)[];
  readonly networks?: readonly string[] | Readonly<Record<string, { ipv4_address?: string } | null>>;
  readonly network_mode?: string;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly restart?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly logging?: { readonly driver: string };
  readonly stop_grace_period?: string;
  readonly deploy?: { readonly resources: { readonly limits: Readonly<Record<string, string | number>> } };
}

export interface AddressPool {
  readonly subnet: string;
  readonly gateway?: string;
  /** Docker takes the addresses that are not fixed from here; without it, from the whole subnet. */
  readonly ip_range?: string;
}

export interface Project {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<
    Record<string, { internal?: boolean; ipam?: { config: readonly AddressPool[] } } | null>
  >;
  readonly volumes: Readonly<Record<string, null>>;
}

export const overlays = ['kafka', 'observability', 'tracing'] as const;

export const composeFiles = (names: readonly string[]): string[] =>
  ['compose.yaml', ...names.map((name) => `compose.${name}.yaml`)].map((name) => join(deployFolder, name));

export const readProject = (names: readonly string[] = []): Project =>
  composeFiles(names).map(readComposeFile).reduce(merge) as unknown as Project;

/** Every variable that a person may set has a default. */
function readComposeFile(file: string): Tree {
  const text = readFileSync(file, 'utf8').replace(/\$\{(\w+):-([^}]*)\}/g, '$2');
  return parse(text.replaceAll('$$', '$'), { merge: true });
}

type Tree = { [key: string]: unknown };

const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Maps are merged and lists joined; a command replaces the other. */
function merge(base: Tree, added: Tree): Tree {
  const merged = { ...base };
  for (const [key, value] of Object.entries(added)) {
    const present = merged[key];
    if (isTree(present) && isTree(value)) merged[key] = merge(present, value);
    else if (Array.isArray(present) && Array.isArray(value) && key !== 'command')
      merged[key] = [...present, ...value];
    else merged[key] = value;
  }
  return merged;
}

export const mountsOf = ({ volumes = [] }: ComposeService): Mount[] =>
  volumes.map((volume) => {
    if (typeof volume !== 'string') return volume;
    const [source = '', target = ''] = volume.split(':');
    return { source, target };
  });

export const networksOf = ({ networks = [] }: ComposeService): string[] =>
  Array.isArray(networks) ? [...networks] : Object.keys(networks);

/** The services of our own image, except the one that makes the secrets. */
export const ownServices = ({ services }: Project): [string, ComposeService][] =>
  Object.entries(services).filter(
    ([name, { image }]) => image.startsWith('countersign:') && name !== 'secrets',
  );

/** A duration such as `30s` or `2m`. */
export const secondsOf = (duration = '0s'): number =>
  Number.parseInt(duration, 10) * (duration.endsWith('m') ? 60 : 1);
