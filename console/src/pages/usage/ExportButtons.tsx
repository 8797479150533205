import { Button } from '@mantine/core';
import { useState } from 'react';
import { callRaw } from '../../api/request.ts';
import { CopyAsCurl } from '../../components/CopyAsCurl.tsx';
import { downloadBlob } from '../../components/download.ts';
import { Icon } from '../../components/Icon.tsx';
import { showError } from '../../components/notices.tsx';
import type { Period } from './period.ts';

const formats = ['csv', 'jsonl'] as const;

/** The usage of each agent and day of the period, as a file. */
export function ExportButtons({ period }: { readonly period: Period }) {
  const [busy, setBusy] = useState<string>();
  const download = async (format: (typeof formats)[number]) => {
    setBusy(format);
    try {
      const response = await callRaw('exportUsage', { query: { ...period, format } });
      downloadBlob(`usage-${period.from}-${period.to}.${format}`, await response.blob());
    } catch (error) {
      showError(error);
    } finally {
      setBusy(undefined);
    }
  };
  const buttons = formats.map((format) => (
    <Button
      key={format}
      variant="default"
      leftSection={<Icon name="download" size={14} />}
      loading={busy === format}
      onClick={() => void download(format)}
    >
      Export {format.toUpperCase()}
    </Button>
  ));
  return (
    <>
      {buttons}
      <CopyAsCurl
        operation="exportUsage"
        input={{ query: { ...period, format: formats[0] } }}
        label="Copy export as curl"
      />
    </>
  );
}
