import { Button } from '@mantine/core';
import { CopyAsCurl } from '../../components/CopyAsCurl.tsx';
import { useDownload } from '../../components/download.ts';
import { Icon } from '../../components/Icon.tsx';
import { showDone, showError } from '../../components/notices.tsx';

/** Downloads the log with its evidence, as `countersign audit verify` reads it. */
export function ExportButton({ organizationId }: { readonly organizationId: string | undefined }) {
  const { busy, download } = useDownload();
  const input = { query: { organizationId } };
  const save = () =>
    download('exportAudit', input, 'audit.jsonl').then(
      (name) => showDone(`Exported. Check it anywhere with: countersign audit verify ${name}`),
      showError,
    );
  return (
    <>
      <Button
        variant="default"
        leftSection={<Icon name="download" size={14} />}
        onClick={() => void save()}
        loading={busy !== undefined}
      >
        Export
      </Button>
      <CopyAsCurl operation="exportAudit" input={input} label="Copy export as curl" />
    </>
  );
}
