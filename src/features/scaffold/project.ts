/** A template and an agent become a project. Paths are the template's alone; what is the agent's goes in as literals. */
import { escapers } from './literals.ts';

export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** What a template can ask for, as `@@name@@`. */
export interface Particulars {
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

export const fill = (template: readonly TextFile[], particulars: Particulars): TextFile[] =>
  template.map(({ path, text }) => ({ path, text: fillOne(path, text, particulars) }));

/** One pass: a value that looks like a place is not filled again. */
function fillOne(path: string, text: string, particulars: Particulars): string {
  return text.replace(/@@(\w+)@@/g, (place, name: string) => {
    const literal = Object.entries(escapers).find(([end]) => path.endsWith(end))?.[1];
    const value = Object.hasOwn(particulars, name) ? particulars[name as keyof Particulars] : undefined;
    if (!literal || value === undefined) throw new Error(`${path}: nothing can be filled in for ${place}`);
    return typeof value === 'string' ? literal(value) : value.map(literal).join(', ');
  });
}
