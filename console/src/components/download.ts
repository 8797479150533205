/** Files that the browser saves. */
import { useState } from 'react';
import type { OperationId } from '../api/generated.ts';
import { callRaw, type Input } from '../api/request.ts';

/** Saves a file that the page has in memory. */
function downloadBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export const downloadText = (name: string, text: string, type = 'text/plain'): void =>
  downloadBlob(name, new Blob([text], { type }));

export interface DownloadedFile {
  readonly name: string;
  /** Large files are on the disk of the browser. */
  readonly blob: Blob;
}

/** Saves the answer of an operation, by the server's name for it, if it has one. `busy` is the name of the file while it is saved. */
export function useDownload() {
  const [busy, setBusy] = useState<string>();
  const download = async <Id extends OperationId>(
    operation: Id,
    input: Input<Id>,
    name: string,
  ): Promise<DownloadedFile> => {
    setBusy(name);
    try {
      const response = await callRaw(operation, input as object);
      const sent = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1];
      const file = { name: sent ?? name, blob: await response.blob() };
      downloadBlob(file.name, file.blob);
      return file;
    } finally {
      setBusy(undefined);
    }
  };
  return { busy, download };
}
