import Type from '../../contract/json-schema.ts';
import { literals, Uuid } from '../../contract/shapes.ts';

export const languages = ['typescript', 'python', 'go', 'java', 'rust'] as const;
export type Language = (typeof languages)[number];

export const ScaffoldParams = Type.Object({ agentId: Uuid });

export const ScaffoldQuery = Type.Object({
  language: Type.Unsafe<Language>({
    ...literals(languages),
    default: 'typescript',
    description: 'the language of the project',
  }),
});

export const Archive = Type.Unsafe<unknown>({ type: 'string', format: 'binary' });
