import { CopyAs } from '../../components/CopyAs.tsx';
import { useDownload } from '../../components/download.ts';
import { IconButton } from '../../components/IconButton.tsx';
import { showError } from '../../components/notices.tsx';
import type { Period } from './period.ts';

const formats = ['csv', 'jsonl'] as const;

/** The usage of each agent and day of the period, as a file. */
export function ExportButtons({ period }: { readonly period: Period }) {
  const { busy, download } = useDownload();
  const nameOf = (format: string) => `usage-${period.from}-${period.to}.${format}`;
  const buttons = formats.map((format) => (
    <IconButton
      key={format}
      variant="default"
      icon="download"
      loading={busy === nameOf(format)}
      onClick={() =>
        void download('exportUsage', { query: { ...period, format } }, nameOf(format)).catch(showError)
      }
    >
      Export {format.toUpperCase()}
    </IconButton>
  ));
  return (
    <>
      {buttons}
      <CopyAs operation="exportUsage" input={{ query: { ...period, format: formats[0] } }} label="export" />
    </>
  );
}
