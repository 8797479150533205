/** The types of the Python SDK: a TypedDict for each object of the API description. */
import type { OpenApi, Schema } from './api-types.ts';
import { type PythonType, textOf, typeLines } from './python-layout.ts';

export const typesModule = 'countersign.types';

/** Gives the type of a schema. `name` is for the object that it may be. */
export type TypeOf = (schema: Schema, name: string) => PythonType;

export interface PythonTypes {
  readonly typeOf: TypeOf;
  /** The file, with all types that `typeOf` has met. */
  readonly file: () => string;
  readonly has: (name: string) => boolean;
}

/** Each type stands below those that it uses, so that none is a text that something has to evaluate. */
export function pythonTypes({ components }: OpenApi): PythonTypes {
  const written = new Map<string, readonly string[]>();
  const begun = new Set<string>();

  const reserve = (name: string): void => {
    if (begun.has(name)) throw new Error(`two Python types would be ${name}`);
    begun.add(name);
  };

  const named = (name: string): PythonType => {
    if (written.has(name)) return name;
    const schema = components.schemas[name];
    if (!schema) throw new Error(`no schema ${name}`);
    if (isRecord(schema)) return writeRecord(schema, name);
    reserve(name);
    const type = typeOf(schema, `${name}Item`);
    written.set(name, [...typeLines(`${name}: TypeAlias = `, type), '']);
    return name;
  };

  const writeRecord = (schema: Schema, name: string): PythonType => {
    reserve(name);
    const { properties = {}, required = [] } = schema;
    const fields = Object.entries(properties).map(([key, value]) => {
      const type = typeOf(value, name + pascal(key));
      return { key, type: required.includes(key) ? type : subscript('NotRequired', [type]) };
    });
    const isClass = fields.every(({ key }) => /^[A-Za-z_]\w*$/.test(key) && !keywords.has(key));
    const lines = isClass
      ? [
          `class ${name}(TypedDict):`,
          ...(schema.description ? [`    """${schema.description}"""`, ''] : []),
          ...fields.flatMap(({ key, type }) => typeLines(`${key}: `, type, '', '    ')),
        ]
      : [
          `${name} = TypedDict(`,
          `    "${name}",`,
          '    {',
          ...fields.flatMap(({ key, type }) => typeLines(`"${key}": `, type, ',', '        ')),
          '    },',
          ')',
        ];
    written.set(name, lines);
    return name;
  };

  const typeOf: TypeOf = (schema, name) => {
    if (schema.$ref) return named(schema.$ref.split('/').at(-1) ?? '');
    if (schema.const !== undefined) return literal([schema.const]);
    if (schema.enum) return literal(schema.enum);
    const choices =
      schema.anyOf ??
      schema.oneOf ??
      (Array.isArray(schema.type) ? schema.type.map((type) => ({ ...schema, type })) : undefined);
    if (choices)
      return union(
        choices.map((choice, index) =>
          typeOf(choice, isObject(choice) && index > 0 ? `${name}${index + 1}` : name),
        ),
      );
    if (schema.allOf) throw new Error(`${name}: Python types have no allOf`);
    switch (schema.type) {
      case 'string':
        return 'str';
      case 'boolean':
        return 'bool';
      case 'null':
        return 'None';
      case 'integer':
        return 'int';
      case 'number':
        return 'float';
      case 'array':
        return subscript('list', [schema.items ? typeOf(schema.items, name) : 'Any']);
      default:
        if (!isObject(schema)) return 'Any';
        if (isRecord(schema)) return writeRecord(schema, name);
        return subscript('dict', [
          'str',
          typeof schema.additionalProperties === 'object' && !hasFields(schema)
            ? typeOf(schema.additionalProperties, name)
            : 'Any',
        ]);
    }
  };

  for (const name of Object.keys(components.schemas).sort()) if (!begun.has(name)) named(name);

  return {
    typeOf,
    has: (name) => begun.has(name),
    file() {
      const body = [...written.values()].map((lines) => `\n\n${lines.join('\n').trimEnd()}\n`).join('');
      const uses = (word: string) => new RegExp(`\\b${word}\\b`).test(body);
      const typing = ['Any', 'Literal', 'TypeAlias'].filter(uses).join(', ');
      return [
        '"""The types of the API: parameters and answers of the methods of `Client.api`.',
        '',
        'Generated from the API description by `npm run openapi`; do not edit.',
        '"""',
        '',
        'import sys',
        `from typing import ${typing}`,
        '',
        'if sys.version_info >= (3, 11):',
        '    from typing import NotRequired, TypedDict',
        'else:',
        '    from typing_extensions import NotRequired, TypedDict',
        body,
      ].join('\n');
    },
  };
}

const subscript = (head: string, parts: readonly PythonType[]): PythonType => ({ head, parts });

const literal = (values: readonly unknown[]): PythonType =>
  subscript(
    'Literal',
    values.map((value) =>
      value === null
        ? 'None'
        : typeof value === 'boolean'
          ? value
            ? 'True'
            : 'False'
          : JSON.stringify(value),
    ),
  );

/** With None at the end. A literal takes it up. */
export function union(types: readonly PythonType[]): PythonType {
  const kinds = [...new Map(types.map((type) => [textOf(type), type])).values()];
  const others = kinds.filter((type) => type !== 'None');
  const isNullable = others.length < kinds.length;
  const [only] = others;
  if (others.length === 1 && only !== undefined && !isNullable) return only;
  if (others.length === 1 && typeof only === 'object' && only.head === 'Literal')
    return textOf(only).length > longLiteral
      ? subscript('Literal', [...only.parts, 'None'])
      : `${textOf(only)} | None`;
  return [...others.map(textOf), ...(isNullable ? ['None'] : [])].join(' | ');
}

const longLiteral = 50;

const isObject = ({ $ref, type, properties }: Schema): boolean =>
  $ref === undefined && (type === 'object' || properties !== undefined);

const hasFields = ({ properties = {} }: Schema): boolean => Object.keys(properties).length > 0;

/** An object whose fields are all known. TypedDict cannot say that others may stand beside them. */
const isRecord = (schema: Schema): boolean =>
  isObject(schema) && hasFields(schema) && !schema.additionalProperties;

export const pascal = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
    .map((part) => part[0]?.toUpperCase() + part.slice(1))
    .join('');

const keywords = new Set([
  'from',
  'class',
  'in',
  'is',
  'not',
  'or',
  'and',
  'if',
  'for',
  'import',
  'global',
  'pass',
]);
