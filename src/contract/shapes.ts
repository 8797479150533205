/** Wire shapes that several features share. A feature's own shapes live in its schema.ts. */
import type { Static, TSchema } from 'typebox';
import Type from './json-schema.ts';
import { limits, type PageSize } from './limits.ts';
import { httpsUrl, httpsUrlWithoutQuery } from './patterns.ts';

const uuid = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}';
const uuidLength = 36;

/** Stricter than JSON Schema's `uuid` format, which also allows a `urn:uuid:` prefix that SQL refuses. */
export const Uuid = Type.String({ format: 'uuid', pattern: `^${uuid}$`, description: 'a UUID' });

/** A list in one query parameter, so that it cannot be confused with a parameter that is given twice. */
export const UuidList = (maxItems: number) =>
  Type.String({
    maxLength: maxItems * (uuidLength + 1) - 1,
    pattern: `^${uuid}(,${uuid}){0,${maxItems - 1}}$`,
    description: `a list of 1 to ${maxItems} UUIDs with commas between them and no blanks`,
  });

/** UTC with milliseconds and `Z`. */
export const Timestamp = Type.String({
  format: 'date-time',
  description: 'an ISO 8601 time such as 2030-01-31T12:00:00Z',
});

/** Control characters, without `\\p{Cc}`: many readers of the OpenAPI document do not know it. */
export const controls = '\\u0000-\\u001F\\u007F-\\u009F';
/** Control and bidirectional formatting characters and U+FEFF: with them, a name could imitate another one. */
export const imitating = `${controls}\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069\\uFEFF`;
const blanks = ' \\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000';
/** Characters that show nothing: zero-width characters, fillers, variation selectors. */
const invisible =
  '\\u00AD\\u034F\\u115F\\u1160\\u17B4\\u17B5\\u180B-\\u180F\\u200B-\\u200D\\u2060-\\u2065\\u206A-\\u206F\\u2800\\u3164\\uFE00-\\uFE0F\\uFFA0\\uFFF9-\\uFFFB';
/** Those beyond 16 bits. Only our own validation names them: other readers of patterns do not know the notation. */
const invisibleAstral = '\\u{1D173}-\\u{1D17A}\\u{E0000}-\\u{E0FFF}';

/**
 * A name: at least one visible character, none that imitates. The first two classes have no character in common, so it takes linear
 * time. Without lookahead, programs can generate requests from it.
 */
const namePattern = (hidden: string): string =>
  `^[${blanks}${hidden}]*[^\\s${hidden}${imitating}][^${imitating}]*$`;
const nameRule =
  'with a visible one, none of them a control character, a bidirectional formatting character or U+FEFF';

/** For every name and title that people read. */
export const nameText = (maxLength: number, more = '') => ({
  minLength: 1,
  maxLength,
  pattern: namePattern(invisible + invisibleAstral),
  documentedPattern: namePattern(invisible),
  description: `1 to ${maxLength} characters, ${nameRule}${more}`,
});

/** At least one visible character; for text that is no name. */
export const visibleText = {
  pattern: `[^\\s${invisible}${invisibleAstral}${imitating}]`,
  documentedPattern: `[^\\s${invisible}${imitating}]`,
};

export const Name = Type.String(nameText(255));

/** Without blanks at its ends: text that a person compares and types. None of the characters that show nothing. */
const plainText = (hidden: string, inner: string): string => {
  const visible = `[^\\s${hidden}${imitating}]`;
  return `(${visible}([^${blanks}${hidden}${imitating}]| )${inner}${visible}|${visible})`;
};

/** For a name that others tell apart by sight: two names that look the same are rarer than with `nameText`. */
export const plainName = (maxLength: number, more = '') => ({
  minLength: 1,
  maxLength,
  pattern: `^${plainText(invisible + invisibleAstral, '*')}$`,
  documentedPattern: `^${plainText(invisible, '*')}$`,
  description: `1 to ${maxLength} visible characters, with blanks inside only${more}`,
});

const labelValue = (hidden: string): string =>
  `${plainText(hidden, `{0,${limits.labels.maxValueLength - 2}}`)}?`;
const labelKey = '[a-z0-9][a-z0-9._/-]{0,62}';
const { perAgent, maxValueLength } = limits.labels;
const labelForm = (build: (value: string) => string) => ({
  pattern: `^${build(labelValue(invisible + invisibleAstral))}$`,
  documentedPattern: `^${build(labelValue(invisible))}$`,
});

/** Keys and values. */
export const Labels = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: perAgent,
  propertyNames: {
    pattern: `^${labelKey}$`,
    description:
      'an object with keys of 1 to 63 characters of a-z, 0-9, ".", "_", "/" and "-", of which the first is a letter or a digit',
  },
  additionalProperties: Type.String({
    maxLength: maxValueLength,
    ...labelForm((value) => value),
    description: `0 to ${maxValueLength} visible characters, with blanks inside only`,
  }),
});

/** Filters of a list: all of them must match. */
export const LabelFilters = Type.Array(
  Type.String({
    maxLength: 63 + 1 + maxValueLength,
    ...labelForm((value) => `${labelKey}(:${value})?`),
    description: 'a label as key:value, or a key alone for any value',
  }),
  {
    maxItems: perAgent,
    description:
      'only entries with this label: `key:value`, or `key` for any value. The parameter may be repeated; then all of the labels must match',
  },
);

/** RFC 6749 §3.3 `scope-token`: a scope of our own API or of a registered resource. */
export const ScopeName = Type.String({
  minLength: 1,
  maxLength: limits.resource.maxScopeLength,
  pattern: '^[!#-\\[\\]-~]+$',
  description: 'a scope: 1 to 64 printable ASCII characters without blanks, quotation marks and backslashes',
});

const address = { minLength: 1, maxLength: 1024 };
/** URLs of another server; `urlProblem` in kernel/url-problem.ts validates them. */
export const Address = Type.String({
  ...address,
  documentedPattern: httpsUrl,
  description: 'an absolute https:// URL in ASCII, without credentials or fragment',
});
export const IssuerAddress = Type.String({
  ...address,
  documentedPattern: httpsUrlWithoutQuery,
  description: 'an absolute https:// URL in ASCII, without credentials, query or fragment',
});

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** Of the instance log, for the audit log and the log's own routes. */
export const Witnessed = Type.Object(
  {
    checkpointSize: Type.Integer({
      description: 'the size of the instance log in the newest checkpoint that has a quorum of its witnesses',
      examples: [4821],
    }),
    time: Type.Unsafe<string>({
      ...Timestamp,
      description: 'when the quorum was reached, by the times of the cosignatures',
      examples: ['2030-01-31T12:00:08.000Z'],
    }),
    witnesses: Type.Array(Type.String(), {
      description: 'the names of the witnesses that have cosigned it',
      examples: [['witness.example/w1']],
    }),
  },
  { title: 'Witnessed' },
);
export type Witnessed = Static<typeof Witnessed>;

export const literals = <const W extends readonly string[]>(words: W) =>
  Type.Unsafe<W[number]>({ type: 'string', enum: [...words] });

/** By which a client authenticates in a form (RFC 6749 §2.3.1, RFC 7523); HTTP Basic is another way. */
export const clientFields = {
  client_id: Type.Optional(
    Type.String({
      description:
        'the agentId, or the address of a client metadata document. With MULTI_TENANT=true also required beside a client_assertion of an external issuer',
    }),
  ),
  client_secret: Type.Optional(Type.String()),
  client_assertion_type: Type.Optional(Type.String({ maxLength: 128 })),
  client_assertion: Type.Optional(Type.String({ maxLength: 8192 })),
};

/** The scopes of a registered resource that an agent may hold. */
export const Grant = Type.Object(
  {
    agentId: Uuid,
    resourceId: Uuid,
    identifier: Type.String({ description: 'of the API: the audience of its tokens' }),
    scopes: Type.Array(Type.String()),
    grantedBy: Uuid,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'Grant' },
);
export type Grant = Static<typeof Grant>;

export const ErrorEnvelope = Type.Object(
  {
    code: Type.String(),
    message: Type.String(),
    details: Type.Optional(Type.Object({}, { additionalProperties: true })),
  },
  { title: 'Error', description: 'The body of every error, except at the token endpoints.' },
);
export type ErrorEnvelope = Static<typeof ErrorEnvelope>;

export const TokenErrorBody = Type.Object(
  {
    error: Type.String(),
    error_description: Type.Optional(Type.String()),
    code: Type.Optional(Type.String()),
    message: Type.Optional(Type.String()),
  },
  { title: 'TokenError', description: 'The body of an error at the token endpoints (RFC 6749 §5.2).' },
);

export const pageQuery = (size: PageSize) => ({
  page: Type.Integer({
    minimum: 1,
    maximum: limits.maxPage,
    default: 1,
    description: 'which page, from 1',
  }),
  limit: Type.Integer({
    minimum: 1,
    maximum: size.max,
    default: size.default,
    description: 'how many entries a page has',
  }),
});

/** The time range of a list. `noun` is plural: "agents". */
export const timeRangeQuery = (noun: string) => ({
  since: Type.Optional(
    Type.String({ format: 'date-time', description: `${noun} created at this time or later` }),
  ),
  until: Type.Optional(
    Type.String({ format: 'date-time', description: `${noun} created at this time or earlier` }),
  ),
});

export const PageOf = <T extends TSchema>(item: T, title: string) =>
  Type.Object(
    { data: Type.Array(item), total: Type.Integer(), page: Type.Integer(), limit: Type.Integer() },
    { title },
  );
