import { Group, Stack } from '@mantine/core';
import type { AuditArchive } from '../../../api/generated.ts';
import { byteSize } from '../../../components/byte-size.ts';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { useDownload } from '../../../components/download.ts';
import { exactTime } from '../../../components/exact-time.ts';
import { Facts } from '../../../components/Facts.tsx';
import { IconButton } from '../../../components/IconButton.tsx';
import { showError } from '../../../components/notices.tsx';
import { ShortHash } from '../../../components/ShortHash.tsx';
import { FileResult } from '../FileResult.tsx';
import type { FileVerifier } from '../use-file-verification.ts';

interface DayDetailProps {
  readonly day: AuditArchive;
  readonly organizationId: string | undefined;
  readonly verifier: FileVerifier;
  readonly onVerify: () => void;
}

/** One day of the archive: verify it here, or take the file. */
export function DayDetail({ day, organizationId, verifier: { state, clear }, onVerify }: DayDetailProps) {
  const { date, events, bytes, sha256, chainHead, createdAt } = day;
  const { busy, download } = useDownload();
  const input = { params: { date }, query: { organizationId } };
  const isShown = state.name === date;
  return (
    <Stack gap="md">
      <Group gap="xs">
        <IconButton icon="compliance" onClick={onVerify} disabled={isShown && state.step === 'running'}>
          {isShown && state.step === 'done' ? 'Verify again' : 'Verify in this browser'}
        </IconButton>
        <IconButton
          variant="default"
          icon="download"
          onClick={() => void download('getAuditArchive', input, `audit-${date}.jsonl.zst`).catch(showError)}
          loading={busy !== undefined}
        >
          Download
        </IconButton>
        <CopyAs operation="getAuditArchive" input={input} label="download" />
      </Group>
      {isShown && <FileResult state={state} bytes={bytes} date={date} onRetry={onVerify} onCancel={clear} />}
      <Facts
        facts={{
          Day: `${date} (UTC)`,
          Events: events.toLocaleString('en'),
          Size: `${byteSize(bytes)}, compressed`,
          Archived: exactTime(createdAt),
          'SHA-256': <ShortHash hash={sha256} label="SHA-256" />,
          'Chain head': <ShortHash hash={chainHead} label="hash of the last event" />,
        }}
      />
    </Stack>
  );
}
