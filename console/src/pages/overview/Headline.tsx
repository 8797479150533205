import type { ReactNode } from 'react';
import type { Overview, OverviewAudit } from '../../api/generated.ts';
import { PageLink } from '../../app/navigation.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { clockTime } from '../../components/time-axis.ts';
import { decisionTime } from './decision-time.ts';
import classes from './Headline.module.css';

/** The figures that a reader asks for first. Each leads to its page. Those that the session may not read are left out. */
export function Headline({ overview }: { readonly overview: Overview }) {
  const { agents, tokensToday, refusals, approvals, audit } = overview;
  return (
    <section aria-label="Headline figures">
      <ul className={classes.figures}>
        <Figure
          label="Agents"
          value={agents.active}
          note={
            agents.suspended > 0 ? `active, ${agents.suspended.toLocaleString('en')} suspended` : 'active'
          }
          to="/agents"
        />
        <Figure
          label="Tokens today"
          value={tokensToday.issued}
          note={`issued since ${clockTime(tokensToday.since)}`}
          to="/usage"
        />
        {refusals && (
          <Figure
            label="Refusals"
            value={refusals.total}
            note="in the last 24 hours"
            to="/audit"
            search={{ outcome: 'failure', from: refusals.since }}
          />
        )}
        {approvals && (
          <Figure
            label="Waiting approvals"
            value={approvals.waiting}
            note={
              approvals.medianDecisionSeconds === null
                ? 'none decided in 24 hours'
                : `decided in ${decisionTime(approvals.medianDecisionSeconds)} (median)`
            }
            to="/approvals"
            search={{ tab: 'organization', status: 'pending' }}
          />
        )}
        {audit && <AuditFigure audit={audit} />}
      </ul>
    </section>
  );
}

/** The result of the server's own background verification. The audit page verifies in the browser. */
function AuditFigure({ audit: { intact, checkedAt } }: { readonly audit: OverviewAudit }) {
  return (
    <Figure
      label="Audit log"
      value={intact ? (checkedAt ? 'Intact' : 'Not checked') : 'Not intact'}
      note={
        checkedAt ? (
          <>
            checked <RelativeTime time={checkedAt} />
          </>
        ) : (
          'the first check is under way'
        )
      }
      tone={intact ? (checkedAt ? 'good' : undefined) : 'bad'}
      to="/audit"
    />
  );
}

interface FigureProps {
  readonly label: string;
  readonly value: number | string;
  readonly note: ReactNode;
  readonly to: string;
  readonly search?: Readonly<Record<string, string>>;
  readonly tone?: 'good' | 'bad' | undefined;
}

function Figure({ label, value, note, to, search, tone }: FigureProps) {
  return (
    <li>
      <PageLink to={to} search={search} className={classes.figure}>
        <span className={classes.label}>{label}</span>{' '}
        <span className={classes.value} data-tone={tone}>
          {value.toLocaleString('en')}
        </span>{' '}
        <span className={classes.note}>{note}</span>
      </PageLink>
    </li>
  );
}
