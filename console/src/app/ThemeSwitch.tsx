import { ActionIcon, type MantineColorScheme, Menu, useMantineColorScheme } from '@mantine/core';
import { Icon } from '../components/Icon.tsx';

const schemes = [
  { value: 'light', label: 'Light', icon: 'sun' },
  { value: 'dark', label: 'Dark', icon: 'moon' },
  { value: 'auto', label: 'As the system', icon: 'system' },
] as const;

/** Light, dark, or as the system. The browser stores the choice. */
export function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const current = schemes.find(({ value }) => value === colorScheme) ?? schemes[2];
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon aria-label={`Theme: ${current.label}`}>
          <Icon name={current.icon} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.RadioGroup
          value={colorScheme}
          onChange={(value) => setColorScheme(value as MantineColorScheme)}
        >
          {schemes.map(({ value, label }) => (
            <Menu.RadioItem key={value} value={value} closeMenuOnClick>
              {label}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
      </Menu.Dropdown>
    </Menu>
  );
}
