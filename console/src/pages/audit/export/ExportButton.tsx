import { CopyAs } from '../../../components/CopyAs.tsx';
import { IconButton } from '../../../components/IconButton.tsx';
import type { Exporter } from './use-export.ts';

/** Downloads the log with its evidence. */
export const ExportButton = ({ input, isBusy, save }: Exporter) => (
  <>
    <IconButton variant="default" icon="download" onClick={save} loading={isBusy}>
      Export
    </IconButton>
    <CopyAs operation="exportAudit" input={input} label="export" />
  </>
);
