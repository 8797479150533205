/** The files of deploy/prometheus and deploy/grafana as data, and a real Prometheus that uses them. */
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseYaml, writeYaml } from '../../../src/adapters/yaml.ts';
import { findProgram, freePort, type Program, startProgram, until } from '../programs.ts';

const pathOf = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

export const rulesPath = pathOf('deploy/prometheus/rules.yaml');
export const ruleTestsPath = pathOf('deploy/prometheus/rules.test.yaml');

export interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface RuleTest {
  readonly name: string;
  readonly alert_rule_test?: readonly {
    readonly alertname: string;
    readonly exp_alerts?: readonly unknown[];
  }[];
}

const readYaml = <T>(path: string): T => parseYaml(readFileSync(path, 'utf8'))[0]?.value as T;

export const readRules = (): readonly Rule[] =>
  readYaml<{ groups: { rules: Rule[] }[] }>(rulesPath).groups.flatMap(({ rules }) => rules);

export const readRuleTests = (): readonly RuleTest[] => readYaml<{ tests: RuleTest[] }>(ruleTestsPath).tests;

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly datasource: { readonly uid: string };
  }[];
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
  readonly panels: readonly Panel[];
}

const dashboardsPath = pathOf('deploy/grafana/dashboards/');

export const readDashboards = (): readonly Dashboard[] =>
  readdirSync(dashboardsPath).map((file) => JSON.parse(readFileSync(join(dashboardsPath, file), 'utf8')));

/** The expressions of all panels, as Grafana sends them with all jobs and instances selected. */
export const dashboardQueries = (): readonly { readonly panel: string; readonly expr: string }[] =>
  readDashboards().flatMap(({ title, panels }) =>
    panels.flatMap((panel) =>
      (panel.targets ?? []).map(({ expr }) => ({
        panel: `${title} / ${panel.title}`,
        expr: expr
          .replaceAll('$job', '.*')
          .replaceAll('$instance', '.*')
          .replaceAll('$__rate_interval', '1m')
          .replaceAll('$__range', '1h'),
      })),
    ),
  );

/** The metrics that an expression reads, without the results of recording rules. */
export const metricsIn = (expr: string): string[] => [
  ...new Set(
    [...expr.replaceAll(/"[^"]*"/g, '').matchAll(/\b(?:service|process|nodejs)_\w+/g)].map(([name]) =>
      name.replace(/^(\w+_(?:seconds|size))_(bucket|sum|count)$/, '$1'),
    ),
  ),
];

export const findPromtool = (): string | undefined => findProgram('promtool');

export async function promtool(path: string, ...args: string[]): Promise<{ code: unknown; output: string }> {
  const program = startProgram(path, args, { env: { PATH: process.env.PATH } });
  const code = await program.gone();
  return { code, output: program.output() };
}

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

export interface Prometheus {
  readonly program: Program;
  /** The result of an instant query. */
  query(expr: string): Promise<readonly Sample[]>;
  alerts(): Promise<readonly { state: string; labels: Record<string, string> }[]>;
}

/** With our rules. Undefined when prometheus is not installed. */
export async function startPrometheus(
  jobs: Readonly<Record<string, number>>,
  token: string,
): Promise<Prometheus | undefined> {
  const path = findProgram('prometheus');
  if (!path) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'countersign-prometheus-'));
  const config = join(folder, 'prometheus.yml');
  writeFileSync(
    config,
    writeYaml({
      global: { scrape_interval: '2s', evaluation_interval: '1s' },
      rule_files: [rulesPath],
      scrape_configs: Object.entries(jobs).map(([job, port]) => ({
        job_name: job,
        authorization: { credentials: token },
        static_configs: [{ targets: [`127.0.0.1:${port}`] }],
      })),
    }),
  );
  const port = await freePort();
  const program = startProgram(
    path,
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { env: { PATH: process.env.PATH }, cwd: folder },
  );
  const get = async (pathname: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${pathname}`);
    const { status, data, error } = (await response.json()) as {
      status: string;
      // biome-ignore lint/suspicious/noExplicitAny: the callers below name the shapes
      data: any;
      error?: string;
    };
    if (status !== 'success') throw new Error(`${pathname}: ${error}`);
    return data;
  };
  await until('prometheus', async () => (await get('status/runtimeinfo')) && true, program);
  return {
    program,
    query: async (expr) => (await get(`query?query=${encodeURIComponent(expr)}`)).result,
    alerts: async () => (await get('alerts')).alerts,
  };
}
