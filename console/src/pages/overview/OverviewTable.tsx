import { Anchor, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { PageLink } from '../../app/navigation.tsx';
import { type Column, type DataTableProps, TableOrText } from '../../components/DataTable.tsx';
import { Section } from '../../components/Section.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import classes from './OverviewPage.module.css';

interface OverviewTableProps<Row> extends DataTableProps<Row> {
  readonly title: string;
  readonly description?: string;
  /** Instead of "None." */
  readonly empty?: ReactNode;
  /** How many there are; the server counts to 1,000. */
  readonly total?: number;
  /** Which of them the rows are: "The newest 10 of 25." */
  readonly order?: 'newest' | 'next';
}

/** The first rows of a list, with their number. */
export function OverviewTable<Row>(props: OverviewTableProps<Row>) {
  const { title, description, empty, total = 0, order, ...table } = props;
  return (
    <Section title={title} label={table.label} description={description}>
      <div className={classes.scroll}>
        <TableOrText {...table} empty={empty || 'None.'} />
      </div>
      {total > table.rows.length && (
        <Text size="xs" c="dimmed" mt={4}>
          The {order} {table.rows.length} of {total >= 1_000 ? '1,000 or more' : total.toLocaleString('en')}.
        </Text>
      )}
    </Section>
  );
}

/** An agent, with a link to one of its tabs. */
export const agentColumn = <Row extends { readonly agentId: string; readonly email: string }>(
  tab: string,
): Column<Row> => ({
  header: 'Agent',
  cell: ({ agentId, email }) => (
    <Anchor component={PageLink} to="/agents/$agentId" params={{ agentId }} search={{ tab }} inherit>
      <TenantText text={email} />
    </Anchor>
  ),
});
