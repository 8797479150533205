/** Fills a template with the values of an agent. Paths come from the template only; values are inserted as escaped literals. */
import { escapers } from './literals.ts';

export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** The placeholders of a template: `@@name@@`. */
interface TemplateValues {
  readonly agentId: string;
  readonly organizationId: string;
  readonly email: string;
  readonly name: string;
  readonly agentType: string;
  readonly version: string;
  readonly owner: string;
  readonly deploymentEnv: string;
  readonly capabilities: readonly string[];
  readonly apiUrl: string;
}

export const fill = (template: readonly TextFile[], values: TemplateValues): TextFile[] =>
  template.map(({ path, text }) => ({ path, text: fillOne(path, text, values) }));

/** One pass: a value that looks like a placeholder is not replaced again. */
function fillOne(path: string, text: string, values: TemplateValues): string {
  return text.replace(/@@(\w+)@@/g, (placeholder, name: string) => {
    const literal = Object.entries(escapers).find(([end]) => path.endsWith(end))?.[1];
    const value = Object.hasOwn(values, name) ? values[name as keyof TemplateValues] : undefined;
    if (!literal || value === undefined) throw new Error(`${path}: no value for ${placeholder}`);
    return typeof value === 'string' ? literal(value) : value.map(literal).join(', ');
  });
}
