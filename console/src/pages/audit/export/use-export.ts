/** Saves the log with its evidence, as `countersign audit verify` reads it, and verifies the saved file in this browser. */
import { useState } from 'react';
import { type DownloadedFile, useDownload } from '../../../components/download.ts';
import { showError } from '../../../components/notices.tsx';
import { useFileVerification } from '../use-file-verification.ts';

export function useExport(organizationId: string | undefined) {
  const { busy, download } = useDownload();
  const verifier = useFileVerification();
  const [file, setFile] = useState<DownloadedFile>();
  const input = { query: { organizationId } };
  const verify = (saved: DownloadedFile) => {
    setFile(saved);
    verifier.start(saved.name, { kind: 'export', file: saved.blob });
  };
  return {
    input,
    isBusy: busy !== undefined,
    save: () => void download('exportAudit', input, 'audit.jsonl').then(verify, showError),
    file,
    state: verifier.state,
    verifyAgain: () => file && verify(file),
    clear: () => {
      verifier.clear();
      setFile(undefined);
    },
  };
}

export type Exporter = ReturnType<typeof useExport>;
