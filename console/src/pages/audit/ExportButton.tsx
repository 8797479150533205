import { CopyAsCurl } from '../../components/CopyAsCurl.tsx';
import { useDownload } from '../../components/download.ts';
import { IconButton } from '../../components/IconButton.tsx';
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
      <IconButton variant="default" icon="download" onClick={() => void save()} loading={busy !== undefined}>
        Export
      </IconButton>
      <CopyAsCurl operation="exportAudit" input={input} label="Copy export as curl" />
    </>
  );
}
