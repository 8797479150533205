/**
 * `npm run sbom [-- file]`: a CycloneDX list of the packages of a production installation, by `npm sbom`. It reads the lockfile only.
 * `npm sbom --omit=dev` leaves out every package that a development package needs as well, so npm gets a lockfile that
 * has the production packages alone.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface LockedPackage {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
}

const read = (name: string) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'));

/** As for `npm ci --omit=dev --omit=optional --workspaces=false`. */
function productionLock() {
  const lock = read('package-lock.json');
  const { devDependencies, optionalDependencies, workspaces, ...root } = lock.packages[''];
  const installed = Object.entries<LockedPackage>(lock.packages).filter(
    ([path, { dev, optional, devOptional }]) =>
      path.startsWith('node_modules/') &&
      !path.startsWith('node_modules/@countersign/') &&
      !dev &&
      !optional &&
      !devOptional,
  );
  return { ...lock, packages: { '': root, ...Object.fromEntries(installed) } };
}

function createSbom(): string {
  const temporary = mkdtempSync(join(tmpdir(), 'countersign-sbom-'));
  try {
    // npm takes the name of the folder for the name of the component.
    const folder = join(temporary, 'countersign');
    mkdirSync(folder);
    const { name, version, description, license, dependencies } = read('package.json');
    const write = (file: string, content: unknown) =>
      writeFileSync(join(folder, file), JSON.stringify(content));
    write('package.json', { name, version, description, license, dependencies });
    write('package-lock.json', productionLock());
    const { status, stdout, stderr, error } = spawnSync(
      'npm',
      ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'],
      { cwd: folder, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
    );
    if (status !== 0) throw new Error(`npm sbom failed: ${error?.message ?? ''}\n${stderr}`);
    return stdout;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

const [file] = process.argv.slice(2);
const sbom = createSbom();
if (file) writeFileSync(file, sbom);
else process.stdout.write(sbom);
