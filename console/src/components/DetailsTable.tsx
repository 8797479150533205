import { Stack, Text } from '@mantine/core';
import classes from './DetailsTable.module.css';
import { exactText, fieldsOf } from './detail-fields.ts';

interface DetailsTableProps {
  /** As the agent sent them, and as its token will carry them. */
  readonly details: readonly Readonly<Record<string, unknown>>[];
}

/** The details of actions, a table for each: always text, whole, with everything invisible made visible. */
export function DetailsTable({ details }: DetailsTableProps) {
  return (
    <Stack gap="sm">
      {details.map(({ type, ...rest }, index) => {
        const name = exactText(String(type));
        const fields = Object.keys(rest).length === 0 ? [] : fieldsOf(rest);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: details have no id, and two can be alike
          <table key={index} className={classes.details}>
            <caption>
              <bdi>{name}</bdi>
              {details.length > 1 && ` (${index + 1} of ${details.length})`}
            </caption>
            <colgroup>
              <col className={classes.names} />
              <col />
            </colgroup>
            <thead className="visually-hidden">
              <tr>
                <th scope="col">Field</th>
                <th scope="col">Value</th>
              </tr>
            </thead>
            <tbody>
              {fields.map(({ path, value, kind }) => (
                <tr key={path.join('\u0000')}>
                  <th scope="row">
                    <FieldName path={path} />
                  </th>
                  <td data-kind={kind}>
                    <bdi>{value === '' ? 'empty text' : kind === 'text' ? exactText(value) : value}</bdi>
                  </td>
                </tr>
              ))}
              {fields.length === 0 && (
                <tr>
                  <td colSpan={2} data-kind="word">
                    <Text size="sm" component="span">
                      No fields beside its type.
                    </Text>
                  </td>
                </tr>
              )}
            </tbody>
          </table>
        );
      })}
    </Stack>
  );
}

/** `payee › name` */
const FieldName = ({ path }: { readonly path: readonly string[] }) =>
  path.map((name, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a path can have a name twice
    <span key={index}>
      {index > 0 && <span className={classes.step}> › </span>}
      <bdi>{name === '' ? '""' : exactText(name)}</bdi>
    </span>
  ));
