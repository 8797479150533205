/** Reads a Dockerfile: its stages, and the steps of each with variables replaced. Only the forms that deploy/Dockerfile uses. */

export interface Step {
  readonly keyword: string;
  /** `--from=build` → { from: 'build' } */
  readonly flags: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface Stage {
  readonly name: string;
  readonly base: string;
  readonly steps: readonly Step[];
}

export interface Dockerfile {
  /** The defaults before the first stage. */
  readonly args: Readonly<Record<string, string>>;
  readonly stages: readonly Stage[];
}

const known = new Set(
  'ARG COPY RUN WORKDIR ENV LABEL USER EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD'.split(' '),
);

export function parseDockerfile(text: string): Dockerfile {
  const args: Record<string, string> = {};
  const stages: { name: string; base: string; steps: Step[] }[] = [];
  for (const line of logicalLines(text)) {
    const step = parseStep(line);
    const stage = stages.at(-1);
    if (step.keyword === 'FROM') {
      const [, base = '', name = ''] = /^(\S+) AS (\S+)$/.exec(substitute(step.text, args)) ?? [];
      if (!name) throw new Error(`a stage without a name: ${line}`);
      stages.push({ name, base, steps: [] });
    } else if (!known.has(step.keyword)) throw new Error(`unknown instruction: ${line}`);
    else if (stage) stage.steps.push(step);
    else Object.assign(args, parseAssignments(substitute(step.text, args)));
  }
  return { args, stages };
}

/** Without comments, and with continued lines joined. */
const logicalLines = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

function parseStep(line: string): Step {
  const [, keyword = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
  const flags: Record<string, string> = {};
  let text = rest;
  for (let flag = /^--([\w-]+)=(\S+)\s+/.exec(text); flag; flag = /^--([\w-]+)=(\S+)\s+/.exec(text)) {
    flags[flag[1] ?? ''] = flag[2] ?? '';
    text = text.slice(flag[0].length);
  }
  return { keyword: keyword.toUpperCase(), flags, text };
}

export const substitute = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${name} is not set: ${text}`);
    return value;
  });

/** `A=1 B="two words"` */
export const parseAssignments = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)].map(([, name = '', quoted, plain]) => [
      name,
      quoted ?? plain ?? '',
    ]),
  );

/** The exec form, which needs no shell. */
export function parseExec(text: string): string[] {
  const words: unknown = JSON.parse(text);
  if (!Array.isArray(words)) throw new Error(`not the exec form: ${text}`);
  return words.map(String);
}
