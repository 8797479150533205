import { Button, Menu } from '@mantine/core';
import type { OperationId } from '../../api/generated.ts';
import { CopyAsMenu, copyable } from '../../components/CopyAs.tsx';
import { useDownload } from '../../components/download.ts';
import { Icon } from '../../components/Icon.tsx';
import { showError } from '../../components/notices.tsx';

const files: readonly { readonly label: string; readonly name: string; readonly operation: OperationId }[] = [
  { label: 'Report (JSON)', name: 'compliance-report', operation: 'getComplianceReport' },
  { label: 'Controls (JSON)', name: 'controls', operation: 'getControls' },
  { label: 'Cards of all active agents (JSON)', name: 'agent-cards', operation: 'exportAgentCards' },
];

/** The requests of the page. */
export const CopyEvidence = () => (
  <CopyAsMenu requests={files.map(({ label, operation }) => copyable(label, operation, {}))} />
);

/** Evidence as files, as the API answers it. */
export function ExportMenu() {
  const { busy, download } = useDownload();
  const save = ({ name, operation }: (typeof files)[number]) =>
    download(operation, {}, `${name}-${new Date().toISOString().slice(0, 10)}.json`).catch(showError);
  return (
    <Menu>
      <Menu.Target>
        <Button
          variant="default"
          loading={busy !== undefined}
          leftSection={<Icon name="download" size={14} />}
        >
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {files.map((file) => (
          <Menu.Item key={file.name} onClick={() => void save(file)}>
            {file.label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
