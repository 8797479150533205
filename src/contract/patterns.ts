/**
 * Patterns of addresses, times and positions, as `documentedPattern` of a field: the OpenAPI document shows them as `pattern`, and code checks the
 * field with a message for each rule. A value that matches is well-formed. Spellings that a URL parser reads as well, such as
 * `HTTPS://` or an address of one number, are accepted but not documented. No lookahead: programs generate values from the patterns.
 */

/** The last label of a name begins with a letter: otherwise it could be part of a number, which is read as an IPv4 address. */
const name = '(?:[A-Za-z0-9_-]+\\.)*[A-Za-z][A-Za-z0-9_-]*\\.?';
const octet = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const ipv4 = `${octet}(?:\\.${octet}){3}`;
const group = '[0-9A-Fa-f]{1,4}';
const ipv6 = `\\[(?:${[
  `(?:${group}:){7}${group}`,
  ...[1, 2, 3, 4, 5, 6].map((count) => `(?:${group}:){1,${7 - count}}(?::${group}){1,${count}}`),
  `(?:${group}:){1,7}:`,
  `:(?::${group}){1,7}`,
  '::',
].join('|')})\\]`;
const port = '(?::(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?';
const authority = `(?:${name}|${ipv4}|${ipv6})${port}`;

/** Printable ASCII without `#`, `\` and, in a path alone, `?`. */
const pathAndQuery = '(?:[/?][!"$-\\[\\]-~]*)?';
const path = '(?:/[!"$->@-\\[\\]-~]*)?';

export const httpsUrl = `^https://${authority}${pathAndQuery}$`;
export const httpsUrlWithoutQuery = `^https://${authority}${path}$`;
export const redirectUri = `^(?:https://${authority}|http://(?:localhost|127\\.0\\.0\\.1|\\[::1\\])${port})${pathAndQuery}$`;
/** RFC 8707 §2: an absolute URI without a fragment. */
export const audienceUri = `^https?://${authority}${pathAndQuery}$`;

/** A character of a path as RFC 3986 §6.2.2 spells it: only characters that need it are percent-encoded, in upper case. */
const encoded = '%(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF])';
const characters = "A-Za-z0-9_~!$&'()*+,;=:@-";
const character = `(?:[.${characters}]|${encoded})`;
/** Neither empty nor `.` nor `..`. */
const segment = `(?:\\.{0,2}(?:[${characters}]|${encoded})|\\.{3})${character}*`;
const canonicalPath = `(?:/${segment})*/?`;
const canonicalName = '(?:[a-z0-9_-]+\\.)*[a-z][a-z0-9_-]*';
const loopback = `(?:localhost|127(?:\\.${octet}){3}|\\[::1\\])`;

/** Not documented: the port must not be the default one, and an IPv6 address must be spelled as a URL parser does. */
export const resourceIdentifier = `^(?:https://(?:${canonicalName}|${ipv4}|\\[[0-9a-f:]+\\])|http://${loopback})${port}${canonicalPath}$`;

const day =
  '(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))' +
  '|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)';
const clock = 'T(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\\.[0-9]{1,9})?)?';
const offsetHours = '[+-](?:[01][0-9]|2[0-3])';

/** A day, or a time with its zone. */
export const dayOrTime = `^${day}(?:${clock}(?:Z|${offsetHours}:[0-5][0-9]))?$`;
/** A day, or a time: of UTC, unless it names a zone. */
export const dayOrLocalTime = `^${day}(?:${clock}(?:Z|${offsetHours}(?::?[0-5][0-9])?)?)?$`;

/** The id of a message of the event stream: the end of the organization's id, and a number. Empty means none. */
export const streamPosition = '^(?:[0-9a-f]{12}-(?:0|[1-9][0-9]{0,14}))?$';
