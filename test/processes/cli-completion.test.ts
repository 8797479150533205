/** The completion scripts, in the shells that are installed. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { succeedSync } from '../support/child-process.ts';
import { runCommand } from '../support/command-line.ts';
import { skipWithout } from '../support/harness.ts';
import { findProgram } from '../support/programs.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-completion-'));
after(() => rmSync(folder, { recursive: true, force: true }));

async function scriptFor(shell: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand(['completion', shell], { env: {}, cwd: folder });
  assert.equal(code, 0, stderr);
  const file = join(folder, `countersign.${shell}`);
  writeFileSync(file, stdout);
  return file;
}

/** What is typed, and what the shell offers. */
const cases: [string, string[]][] = [
  ['countersign agen', ['agents']],
  ['countersign agents rea', ['reactivate']],
  ['countersign agents list --stat', ['--status']],
  ['countersign agents list --status ', ['active', 'decommissioned', 'suspended']],
  ['countersign credentials rotate x y --y', ['--yes']],
  ['countersign audit ver', ['verify']],
  ['countersign completion --h', ['--help']],
];

describe('completion', () => {
  it('bash', async (t) => {
    if (!findProgram('bash')) return skipWithout(t, 'bash');
    const file = await scriptFor('bash');
    for (const [line, offered] of [
      ...cases,
      ['countersign agents create --allowed-scopes agents:', ['read', 'write']],
    ] as typeof cases) {
      const script = `source "$0"; COMP_LINE="$1"; COMP_POINT=\${#1}; _countersign; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const out = succeedSync('bash', ['-c', script, file, line]);
      assert.deepEqual(out.trim().split('\n').sort(), offered, line);
    }
  });

  it('zsh', async (t) => {
    if (!findProgram('zsh')) return skipWithout(t, 'zsh');
    const file = await scriptFor('zsh');
    const stubs = `compdef() { :; }; compadd() { shift; print -l -- "$@"; }; _files() { :; };
      _describe() { local -a list; list=("\${(@P)2}"); print -l -- "\${(@)list%%:*}"; }`;
    for (const [line, offered] of cases) {
      const script = `${stubs}; source "$1"; words=(\${(s: :)2}); [[ $2 == *' ' ]] && words+=(''); CURRENT=$#words; _countersign`;
      const out = succeedSync('zsh', ['-fc', script, 'zsh', file, line]);
      const last = line.slice(line.lastIndexOf(' ') + 1);
      assert.deepEqual(
        out
          .trim()
          .split('\n')
          .filter((word) => word.startsWith(last))
          .sort(),
        offered,
        line,
      );
    }
  });

  it('fish', async (t) => {
    if (!findProgram('fish')) return skipWithout(t, 'fish');
    const file = await scriptFor('fish');
    for (const [line, offered] of cases) {
      const out = succeedSync('fish', ['-N', '-c', `source $argv[1]; complete -C $argv[2]`, file, line]);
      const words = out
        .trim()
        .split('\n')
        .map((entry) => entry.split('\t')[0] ?? '');
      assert.deepEqual(words.sort(), offered, line);
    }
  });

  it('names the shells that it knows', async () => {
    const { code, stderr } = await runCommand(['completion', 'ksh'], { env: {}, cwd: folder });
    assert.equal(code, 2);
    assert.match(stderr, /there is no completion for ksh; there is one for bash, zsh, fish/);
  });
});
