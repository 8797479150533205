import { Button, Menu } from '@mantine/core';
import { useState } from 'react';
import type { OperationId } from '../../api/generated.ts';
import { callRaw } from '../../api/request.ts';
import { CopyAsCurlItem } from '../../components/CopyAsCurlItem.tsx';
import { downloadBlob } from '../../components/download.ts';
import { Icon } from '../../components/Icon.tsx';
import { showError } from '../../components/notices.tsx';

const files: readonly { readonly label: string; readonly name: string; readonly operation: OperationId }[] = [
  { label: 'Report (JSON)', name: 'compliance-report', operation: 'getComplianceReport' },
  { label: 'Controls (JSON)', name: 'controls', operation: 'getControls' },
  { label: 'Cards of all active agents (JSON)', name: 'agent-cards', operation: 'exportAgentCards' },
];

/** Evidence as files, as the API answers it. */
export function ExportMenu() {
  const [busy, setBusy] = useState(false);
  const download = async ({ name, operation }: (typeof files)[number]) => {
    setBusy(true);
    try {
      const response = await callRaw(operation, {});
      const day = new Date().toISOString().slice(0, 10);
      downloadBlob(`${name}-${day}.json`, await response.blob());
    } catch (error) {
      showError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Menu>
      <Menu.Target>
        <Button variant="default" loading={busy} leftSection={<Icon name="download" size={14} />}>
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {files.map((file) => (
          <Menu.Item key={file.name} onClick={() => void download(file)}>
            {file.label}
          </Menu.Item>
        ))}
        <Menu.Divider />
        {files.map(({ name, label, operation }) => (
          <CopyAsCurlItem key={name} operation={operation} input={{}} label={`Copy as curl: ${label}`} />
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
