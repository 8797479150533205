/**
 * The typed methods of the Python SDK: a module for each tag of the API description, with a class for threads and one for asyncio. Both
 * come from the same function, and send the same operations.
 */
import { pythonName } from '../console/src/api/python-names.ts';
import {
  answersWithStream,
  bodySchemaOf,
  contentOfAnswer,
  jsonSchemaOf,
  type ListedOperation,
  type OpenApi,
  operationsBelow,
  type Schema,
  takesForm,
} from './api-types.ts';
import { docstring, listLines, type PythonType, textOf, typeLines } from './python-layout.ts';
import { type PythonTypes, pascal, pythonTypes, typesModule, union } from './python-types.ts';

const folder = 'sdk/python/src/countersign';
const notice = 'Generated from the API description by `npm run openapi`; do not edit.';

/** Path and text of each file. */
export function pythonClient(document: OpenApi): Record<string, string> {
  const types = pythonTypes(document);
  const tags = Map.groupBy(operationsBelow('/', document), ({ operation }) => operation.tags?.[0] ?? 'Other');
  const groups = [...tags]
    .map(([tag, listed]) => ({
      tag,
      name: tag.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_'),
      methods: listed.map((one) => methodOf(one, types, document)),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const modules = groups.map((group) => [`${folder}/api/${group.name}.py`, moduleOf(group, types)] as const);
  return {
    [`${folder}/types.py`]: types.file(),
    [`${folder}/api/__init__.py`]: joined(groups),
    ...Object.fromEntries(modules),
  };
}

interface Group {
  readonly tag: string;
  readonly name: string;
  readonly methods: readonly Method[];
}

interface Parameter {
  readonly name: string;
  readonly python: string;
  readonly type: PythonType;
  readonly required: boolean;
}

interface Method {
  readonly name: string;
  /** The operation of the module. */
  readonly constant: string;
  readonly entry: readonly string[];
  readonly texts: readonly string[];
  readonly path: readonly Parameter[];
  readonly query: readonly Parameter[];
  readonly body: Parameter | undefined;
  readonly takesKey: boolean;
  readonly answer: PythonType;
  readonly isStream: boolean;
  /** An item of a list that has pages. */
  readonly item: PythonType | undefined;
}

function methodOf(
  { path, method, operation }: ListedOperation,
  types: PythonTypes,
  document: OpenApi,
): Method {
  const { operationId, parameters = [], requestBody, security = [], summary = '', description } = operation;
  const owner = pascal(operationId);
  const parametersIn = (place: string): Parameter[] =>
    parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name, required = false, schema }) => ({
        ...{ name, python: pythonName(name), type: types.typeOf(schema, owner + pascal(name)) },
        required: required || place === 'path',
      }));
  const inPath = parametersIn('path');
  const bodySchema = bodySchemaOf(operation);
  const answerContent = contentOfAnswer(operation);
  const isStream = answersWithStream(operation);
  const answerSchema = answerContent && jsonSchemaOf(answerContent);
  const answer = answerSchema ? types.typeOf(answerSchema, `${owner}Answer`) : isStream ? 'Any' : 'None';
  const constant = pythonName(operationId).toUpperCase();
  const entry = [
    `"${method.toUpperCase()}"`,
    `"${path}"`,
    ...(security.some((way) => way.oauth2 ?? way.bearer) ? [] : ['needs_token=False']),
    ...(takesForm(operation) ? ['takes_form=True'] : []),
  ];
  const made: Method = {
    ...{ name: pythonName(operationId), constant, answer, isStream },
    entry: listLines(`${constant} = Operation[${textOf(answer)}](`, entry, ')'),
    texts: [sentence(summary), ...(description ? [sentence(description)] : [])],
    // In the order of the path.
    path: [...path.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) => inPath.filter((one) => one.name === name)),
    query: parametersIn('query').sort((a, b) => Number(b.required) - Number(a.required)),
    body: bodySchema && {
      ...{ name: 'body', python: 'body', type: types.typeOf(bodySchema, `${owner}Body`) },
      required: requestBody?.required ?? false,
    },
    takesKey: parameters.some(({ name }) => name === 'Idempotency-Key'),
    item: answerSchema && itemOf(answerSchema, types, document),
  };
  const names = ['self', ...parametersOf(made).map(({ python }) => python)];
  if (new Set(names).size < names.length) throw new Error(`two parameters of ${operationId} have one name`);
  return made;
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** Lists have `page`, and deliveries have `offset`. */
function itemOf(schema: Schema, types: PythonTypes, { components }: OpenApi): PythonType | undefined {
  const name = schema.$ref?.split('/').at(-1) ?? '';
  const { properties = {} } = components.schemas[name] ?? schema;
  const [key, list] =
    (properties.page && properties.total && (['data', properties.data] as const)) ||
    (properties.offset && properties.total && (['deliveries', properties.deliveries] as const)) ||
    [];
  if (!list?.items) return undefined;
  if (list.items.$ref) return types.typeOf(list.items, '');
  // An object without a name of its own is named when its list is written.
  const item = `${name}${pascal(key ?? '')}`;
  if (!types.has(item)) throw new Error(`no type ${item}`);
  return item;
}

const keyParameter: Parameter = {
  ...{ name: 'Idempotency-Key', python: 'idempotency_key', type: 'str', required: false },
};

const parametersOf = ({ path, body, query, takesKey }: Method): Parameter[] => [
  ...path,
  ...(body ? [body] : []),
  ...query,
  ...(takesKey ? [keyParameter] : []),
];

function moduleOf({ tag, name, methods }: Group, types: PythonTypes): string {
  const classes = [false, true].flatMap((isAsync) => [
    '',
    '',
    `class ${className(name, isAsync)}(${isAsync ? 'AsyncCalls' : 'Calls'}):`,
    ...methods
      .flatMap((method) => [
        ...methodLines(method, isAsync),
        ...(method.item ? iterateLines(method, isAsync) : []),
      ])
      .slice(1),
  ]);
  const constants = methods.flatMap(({ entry }) => entry);
  const text = [...constants, ...classes].join('\n');
  const words = new Set(text.replaceAll(/"""[\s\S]*?"""|"[^"\n]*"/g, '').match(/\b[A-Z]\w*/g));
  const from = (module: string, names: readonly string[]) => {
    const used = names.filter((one) => words.has(one));
    return used.length > 0 ? importLines(module, used) : [];
  };
  return [
    `"""The operations of "${tag}".`,
    '',
    notice,
    '"""',
    '',
    ...group([
      ...from('collections.abc', ['AsyncIterator', 'Iterator']),
      ...from('typing', ['Any', 'Literal']),
    ]),
    'from countersign.calls import AsyncCalls, Calls',
    'from countersign.operation import Operation',
    ...from('countersign.stream', ['AsyncStream', 'Stream']),
    ...from(typesModule, [...words].filter(types.has)),
    '',
    text,
    '',
  ].join('\n');
}

const group = (lines: readonly string[]): readonly string[] => (lines.length > 0 ? [...lines, ''] : []);

function importLines(module: string, given: readonly string[]): string[] {
  const names = given.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  const line = `from ${module} import ${names.join(', ')}`;
  if (line.length <= 100) return [line];
  return [`from ${module} import (`, ...names.map((name) => `    ${name},`), ')'];
}

const className = (name: string, isAsync: boolean): string => `${isAsync ? 'Async' : ''}${pascal(name)}Api`;

function methodLines(method: Method, isAsync: boolean): string[] {
  const { name, constant, isStream, texts } = method;
  const answer = isStream ? (isAsync ? 'AsyncStream' : 'Stream') : method.answer;
  const awaits = isAsync && !isStream;
  const send = `${awaits ? 'await ' : ''}self.${isStream ? '_stream' : '_call'}(`;
  return [
    ...signature(`${awaits ? 'async ' : ''}def ${name}`, method, answer),
    ...docstring(texts, indent),
    ...callLines(`${answer === 'None' ? '' : 'return '}${send}`, constant, method),
  ];
}

/** `iterate_agents` for `list_agents`. */
function iterateLines(method: Method, isAsync: boolean): string[] {
  const { name, constant, item = '' } = method;
  const answer = { head: isAsync ? 'AsyncIterator' : 'Iterator', parts: [item] };
  return [
    ...signature(`def iterate_${name.replace(/^(list|search|get)_/, '')}`, method, answer),
    ...docstring([`All items of \`${name}\`, page after page.`], indent),
    ...callLines('return self._iterate(', constant, method),
  ];
}

const indent = '        ';

/** Parameters of the path and the body by their place or name, and filters by their name. */
function signature(begin: string, method: Method, answer: PythonType): string[] {
  const { path, body } = method;
  const named = parametersOf(method).slice(path.length + (body ? 1 : 0));
  const asText = ({ python, type, required }: Parameter): string =>
    required ? `${python}: ${textOf(type)}` : `${python}: ${textOf(union([type, 'None']))} = None`;
  const positional = parametersOf(method).slice(0, path.length + (body ? 1 : 0));
  const items = ['self', ...positional.map(asText), ...(named.length > 0 ? ['*', ...named.map(asText)] : [])];
  const line = `    ${begin}(${items.join(', ')}) -> ${textOf(answer)}:`;
  if (line.length <= 100) return ['', line];
  const optional = (one: Parameter): PythonType => (one.required ? one.type : union([one.type, 'None']));
  return [
    '',
    `    ${begin}(`,
    '        self,',
    ...positional.flatMap((one) =>
      typeLines(`${one.python}: `, optional(one), one.required ? ',' : ' = None,', indent),
    ),
    ...(named.length > 0 ? ['        *,'] : []),
    ...named.flatMap((one) =>
      typeLines(`${one.python}: `, optional(one), one.required ? ',' : ' = None,', indent),
    ),
    `    ) -> ${textOf(answer)}:`,
  ];
}

function callLines(before: string, constant: string, { path, query, body, takesKey }: Method): string[] {
  const pairs = query.map(({ name, python }) => `"${name}": ${python}`);
  const values = [
    ...path.map(({ python }) => python),
    ...(query.length > 0 ? ['query=query'] : []),
    ...(body ? ['body=body'] : []),
    ...(takesKey ? ['idempotency_key=idempotency_key'] : []),
  ];
  const call = `${constant}(${values.join(', ')})`;
  return [
    ...(query.length > 0 ? dictLines('query = ', pairs) : []),
    ...listLines(before, [call], ')', indent),
  ];
}

function dictLines(before: string, pairs: readonly string[]): string[] {
  const line = `${indent}${before}{${pairs.join(', ')}}`;
  if (line.length <= 100) return [line];
  return [`${indent}${before}{`, ...pairs.map((pair) => `${indent}    ${pair},`), `${indent}}`];
}

function joined(groups: readonly Group[]): string {
  return [
    '"""The operations of the API.',
    '',
    notice,
    '"""',
    '',
    ...groups.flatMap(({ name }) =>
      importLines(`countersign.api.${name}`, [className(name, true), className(name, false)]),
    ),
    '',
    ...[false, true].flatMap((isAsync) => [
      '',
      `class ${isAsync ? 'AsyncApi' : 'Api'}(`,
      ...groups.map(({ name }) => `    ${className(name, isAsync)},`),
      '):',
      `    """${isAsync ? 'The same for asyncio.' : 'A method for each operation: `client.api.get_agent(agent_id)`.'}"""`,
      '',
    ]),
  ].join('\n');
}
