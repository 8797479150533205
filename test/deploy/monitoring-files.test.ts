/** The rules, dashboards and runbooks in themselves. The lock and the units that runbooks name exist. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { writeYaml } from '../../src/adapters/yaml.ts';
import { metrics } from '../../src/contract/metrics.ts';
import type { Tx } from '../../src/kernel/data/db.ts';
import { lockGlobal } from '../../src/kernel/data/locks.ts';
import { sql } from '../../src/kernel/data/sql.ts';
import {
  dashboardQueries,
  findPromtool,
  metricsIn,
  type Panel,
  promtool,
  readDashboards,
  readRules,
  readRuleTests,
  rulesPath,
  ruleTestsPath,
} from '../support/deploy/monitoring.ts';
import { keepOpen, skipWithout, startApp } from '../support/harness.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const runbooks = 'docs/operations/runbooks';
const alerts = readRules().filter(({ alert }) => alert !== undefined);
const fileOf = (alert = '') => `${alert.replaceAll(/(?<!^)([A-Z])/g, '-$1').toLowerCase()}.md`;
const isOurs = (name: string) => name.startsWith('service_');

describe('deploy/prometheus/rules.yaml', () => {
  it('promtool finds no problem, and its tests pass', async (t) => {
    const path = findPromtool();
    if (!path) return skipWithout(t, 'promtool (Debian package prometheus)');
    for (const args of [
      ['check', 'rules', rulesPath],
      ['test', 'rules', ruleTestsPath],
    ]) {
      const { code, output } = await promtool(path, ...args);
      assert.equal(code, 0, output);
    }
  });

  it('each alert has a test in which it fires and one in which it does not', () => {
    const cases = readRuleTests().flatMap(({ alert_rule_test = [] }) => alert_rule_test);
    const tested = (fires: boolean) =>
      new Set(
        cases
          .filter(({ exp_alerts = [] }) => exp_alerts.length > 0 === fires)
          .map(({ alertname }) => alertname),
      );
    const names = new Set(alerts.map(({ alert }) => alert ?? ''));
    assert.equal(names.size, alerts.length, 'the names of alerts are unique');
    assert.deepEqual(names.difference(tested(true)), new Set());
    assert.deepEqual(names.difference(tested(false)), new Set());
  });

  for (const { alert, labels, annotations } of alerts) {
    it(`${alert} has a severity, a summary, a description and a runbook`, () => {
      assert.match(labels?.severity ?? '', /^(critical|warning|info)$/);
      assert.ok(annotations?.summary);
      assert.ok(annotations.description);
      assert.equal(annotations.runbook_url, `${runbooks}/${fileOf(alert)}`);
    });
  }

  it('reads only metrics that exist', () => {
    const used = readRules().flatMap(({ expr }) => metricsIn(expr).filter(isOurs));
    assert.ok(used.length > 20);
    assert.deepEqual(
      used.filter((name) => !(name in metrics)),
      [],
    );
  });
});

describe(runbooks, () => {
  const sections = ['Meaning', 'Impact', 'Check', 'Fix', 'Afterwards'];

  for (const { alert } of alerts) {
    it(`${fileOf(alert)} is named after its alert and has all sections`, () => {
      const path = join(root, runbooks, fileOf(alert));
      assert.ok(existsSync(path), path);
      const text = readFileSync(path, 'utf8');
      assert.equal(/^# (.+)$/m.exec(text)?.[1], alert);
      assert.deepEqual(
        [...text.matchAll(/^## (.+)$/gm)].map(([, title]) => title),
        sections,
      );
    });
  }

  it('has no page without an alert, and its index names each alert', () => {
    const pages = readdirSync(join(root, runbooks)).filter((file) => file !== 'README.md');
    assert.deepEqual(pages.sort(), alerts.map(({ alert }) => fileOf(alert)).sort());
    const index = readFileSync(join(root, runbooks, 'README.md'), 'utf8');
    for (const { alert, labels } of alerts) {
      const row = new RegExp(`^\\| \\[${alert}\\]\\(${fileOf(alert)}\\) \\| ${labels?.severity} \\|`, 'm');
      assert.match(index, row);
    }
  });

  it('the query of audit-linking-delayed.md shows the session that holds the lock', async () => {
    const page = readFileSync(join(root, runbooks, 'audit-linking-delayed.md'), 'utf8');
    const query = /```sql\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
    const app = await startApp();
    const locks: ((tx: Tx) => Promise<unknown>)[] = [
      (tx) => lockGlobal(tx, 'auditSequencer'),
      (tx) => tx.run('test.lock', sql`lock table audit_progress in exclusive mode`),
    ];
    for (const lock of locks) {
      let pid: number | undefined;
      const release = await keepOpen(app, async (tx) => {
        await lock(tx);
        ({ pid } = await tx.one<{ pid: number }>('test.pid', sql`select pg_backend_pid() as pid`));
      });
      const holders = async () => (await app.sql<{ pid: number }>(query)).filter((row) => row.pid === pid);
      const before = await holders().finally(release);
      assert.equal(before.length, 1);
      assert.equal((await holders()).length, 0);
    }
  });
});

describe('docs', () => {
  it('each unit of ours that a `systemctl` command names is in deploy/systemd', () => {
    const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.md'),
    );
    const named = pages.flatMap((file) => unitsIn(readFileSync(join(root, 'docs', file), 'utf8')));
    for (const unit of ['countersign@serve', 'countersign@worker', 'countersign-backup.timer'])
      assert.ok(named.includes(unit), unit);
    for (const unit of named)
      assert.ok(existsSync(join(root, 'deploy/systemd', unitFileOf(unit))), `${unit} is no unit`);
  });
});

describe('deploy/grafana/dashboards', () => {
  for (const { uid, title, panels, templating } of readDashboards()) {
    it(`${title}: panels have unique ids, a description and a unit, and do not overlap`, () => {
      assert.match(uid, /^countersign-/);
      assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
      for (const { title: name, gridPos, ...panel } of panels) {
        const { x, y, w, h } = gridPos;
        assert.ok(x >= 0 && y >= 0 && w > 0 && h > 0 && x + w <= 24, `${name} is within 24 columns`);
        if (panel.type === 'row') continue;
        assert.match(panel.description ?? '', /\w.*\.$/, `${name} has a description`);
        assert.ok(panel.fieldConfig?.defaults.unit, `${name} has a unit`);
        assert.ok(panel.targets?.length, `${name} has a query`);
        assert.equal(new Set(panel.targets.map(({ refId }) => refId)).size, panel.targets.length);
        for (const { datasource } of panel.targets) assert.equal(datasource.uid, `\${datasource}`);
      }
      const pairs = panels.flatMap((one, index) => panels.slice(index + 1).map((other) => [one, other]));
      const overlapping = pairs
        .filter(([one, other]) => overlap(one as Panel, other as Panel))
        .map((pair) => pair.map((panel) => panel.title));
      assert.deepEqual(overlapping, []);
    });

    it(`${title}: data source, job and instance can be chosen`, () => {
      assert.deepEqual(
        templating.list.map(({ name, type }) => [name, type]),
        [
          ['datasource', 'datasource'],
          ['job', 'query'],
          ['instance', 'query'],
        ],
      );
    });
  }

  it('every metric selector is limited to the chosen jobs and instances, and its metric exists', () => {
    for (const { title, panels } of readDashboards())
      for (const panel of panels)
        for (const { expr } of panel.targets ?? []) {
          const selectors = [...expr.matchAll(/\b(\w+)\{([^}]*)\}/g)];
          assert.ok(selectors.length > 0, `${title} / ${panel.title}`);
          for (const [, , labels] of selectors)
            assert.match(labels ?? '', /^job=~"\$job",instance=~"\$instance"/, `${title} / ${panel.title}`);
          assert.equal(metricsIn(expr).length > 0, true);
          assert.deepEqual(
            metricsIn(expr).filter((name) => isOurs(name) && !(name in metrics)),
            [],
          );
        }
  });

  it('every metric is in a dashboard', () => {
    const shown = new Set(dashboardQueries().flatMap(({ expr }) => metricsIn(expr)));
    assert.deepEqual(
      Object.keys(metrics).filter((name) => !shown.has(name)),
      [],
    );
  });

  it('promtool parses every expression', async (t) => {
    const path = findPromtool();
    if (!path) return skipWithout(t, 'promtool (Debian package prometheus)');
    const file = join(mkdtempSync(join(tmpdir(), 'countersign-dashboards-')), 'rules.yaml');
    const rules = dashboardQueries().map(({ expr }, index) => ({ record: `panel:${index}`, expr }));
    writeFileSync(file, writeYaml({ groups: [{ name: 'panels', rules }] }));
    const { code, output } = await promtool(path, 'check', 'rules', file);
    assert.equal(code, 0, output);
  });
});

/** The units after `systemctl` in the same command. */
const unitsIn = (text: string): string[] =>
  [...text.matchAll(/\bsystemctl ([^`\n;&|]*)/g)].flatMap(
    ([, words]) => words?.split('#')[0]?.match(/(?<![\w/])countersign[\w@.-]*/g) ?? [],
  );

/** `countersign@serve` is an instance of `countersign@.service`. */
const unitFileOf = (unit: string): string => {
  const instance = /^(countersign@)(serve|worker)(\.service)?$/.exec(unit);
  if (instance) return `${instance[1]}.service`;
  return /\.(service|timer)$/.test(unit) ? unit : `${unit}.service`;
};

function overlap({ gridPos: one }: Panel, { gridPos: other }: Panel): boolean {
  const apart = (start: 'x' | 'y', size: 'w' | 'h') =>
    one[start] + one[size] <= other[start] || other[start] + other[size] <= one[start];
  return !apart('x', 'w') && !apart('y', 'h');
}
