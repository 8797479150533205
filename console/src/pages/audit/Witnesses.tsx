import { Text } from '@mantine/core';
import type { AuditWitnesses } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { Icon } from '../../components/Icon.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import classes from './Audit.module.css';
import { NameList } from './NameList.tsx';
import { WitnessGuide } from './WitnessGuide.tsx';

const refetchInterval = 15_000;

/** Who outside of this server has confirmed the log, and since when. The server reports it; a file proves it. */
export function Witnesses() {
  const { data } = useApi('listAuditWitnesses', {}, { refetchInterval });
  if (!data) return null;
  return (
    <div className={classes.witnesses}>
      {data.quorum === null ? <NotConfigured /> : <Configured report={data} quorum={data.quorum} />}
    </div>
  );
}

const NotConfigured = () => (
  <Text size="xs" c="dimmed">
    No witnesses are configured: the log is proven by the keys of this server alone. Operators find more in{' '}
    <WitnessGuide />.
  </Text>
);

function Configured({ report, quorum }: { readonly report: AuditWitnesses; readonly quorum: number }) {
  const { witnessed, witnesses } = report;
  const failing = witnesses.filter((one) => one.failing !== null);
  const isMissing = witnesses.length - failing.length < quorum;
  return (
    <>
      <Text size="sm" className={classes.witnessLine ?? ''} data-missing={isMissing || undefined}>
        <Icon name={isMissing ? 'warning' : witnessed ? 'check' : 'clock'} size={14} />
        <span>
          {witnessed ? (
            <>
              Witnessed by <NameList names={witnessed.witnesses} /> ·{' '}
              <RelativeTime time={witnessed.time} withSeconds />
              <span className={classes.source}>, as this server reports</span>
            </>
          ) : (
            'Not witnessed yet'
          )}
        </span>
      </Text>
      {!witnessed && !isMissing && (
        <Text size="xs" c="dimmed">
          {witnesses.length === 1 ? 'A witness is' : `${witnesses.length} witnesses are`} configured, and too
          few have confirmed the log so far. After its first event this takes some seconds.
        </Text>
      )}
      {isMissing && (
        <>
          <Text size="sm" maw="46rem">
            {quorum === 1 ? 'A witness' : `${quorum} witnesses`} must confirm each state of the log, and{' '}
            {witnesses.length - failing.length} of {witnesses.length} do at present. New events are still
            linked and signed by this server, but no one outside has seen them
            {witnessed && ' since then'}. Operators find what to do in <WitnessGuide />.
          </Text>
          <ul className={classes.checks}>
            {failing.map((one) => (
              <li key={one.verifierKey}>
                <NameList names={[one.name]} />: {one.failing}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
