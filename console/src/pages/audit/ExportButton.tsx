import { Button } from '@mantine/core';
import { useState } from 'react';
import { callRaw } from '../../api/request.ts';
import { CopyAsCurl } from '../../components/CopyAsCurl.tsx';
import { downloadBlob } from '../../components/download.ts';
import { Icon } from '../../components/Icon.tsx';
import { showDone, showError } from '../../components/notices.tsx';

/** Downloads the log with its evidence, as `countersign audit verify` reads it. */
export function ExportButton({ organizationId }: { readonly organizationId: string | undefined }) {
  const [busy, setBusy] = useState(false);
  const input = { query: { organizationId } };
  const save = async () => {
    setBusy(true);
    try {
      const response = await callRaw('exportAudit', input);
      const [, name = 'audit.jsonl'] =
        /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? [];
      downloadBlob(name, await response.blob());
      showDone(`Exported. Check it anywhere with: countersign audit verify ${name}`);
    } catch (error) {
      showError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button
        variant="default"
        leftSection={<Icon name="download" size={14} />}
        onClick={() => void save()}
        loading={busy}
      >
        Export
      </Button>
      <CopyAsCurl operation="exportAudit" input={input} label="Copy export as curl" />
    </>
  );
}
