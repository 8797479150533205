/** The frame around every page: navigation, header, notices. */
import { Burger, Kbd, Menu, UnstyledButton } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { toApiError } from '../api/api-error.ts';
import { ErrorNotice } from '../components/ErrorNotice.tsx';
import { Icon } from '../components/Icon.tsx';
import { Logo } from '../components/Logo.tsx';
import { clearError, showError } from '../components/notices.tsx';
import { TenantText } from '../components/TenantText.tsx';
import { useWaiting } from './approval-context.tsx';
import { CommandLineDialog } from './CommandLineDialog.tsx';
import { ConnectionNotice } from './ConnectionNotice.tsx';
import { useCommands } from './commands.tsx';
import { ExpiryWarning } from './ExpiryWarning.tsx';
import { LiveIndicator } from './LiveIndicator.tsx';
import { PageLink } from './navigation.tsx';
import { Palette } from './Palette.tsx';
import { firstPageOf, isMember, navigationFor } from './page-access.ts';
import { SessionRole } from './SessionRole.tsx';
import classes from './Shell.module.css';
import { useSession, useSessionState } from './session-context.tsx';
import { ThemeSwitch } from './ThemeSwitch.tsx';

export function Shell() {
  const [navigationOpened, navigation] = useDisclosure(false);
  const [paletteOpened, palette] = useDisclosure(false);
  const { pathname } = useLocation();
  const main = useRef<HTMLElement>(null);
  const [firstPath] = useState(pathname);
  const session = useSession();
  const home = firstPageOf(session);
  useHotkeys([['mod+K', palette.open]], []);

  useEffect(() => {
    navigation.close();
    clearError();
    // After a change of page a screen reader starts at its content.
    if (pathname !== firstPath) main.current?.focus({ preventScroll: true });
  }, [pathname, firstPath, navigation.close]);

  return (
    <div className={classes.shell}>
      <a className={classes.skip} href="#main">
        Skip to content
      </a>
      <header className={classes.header}>
        <Burger
          className={classes.burger ?? ''}
          opened={navigationOpened}
          onClick={navigation.toggle}
          size="sm"
          aria-label={navigationOpened ? 'Close navigation' : 'Open navigation'}
          aria-expanded={navigationOpened}
          aria-controls="navigation"
        />
        <PageLink
          to={home}
          className={classes.brand}
          aria-label={home === '/' ? 'Countersign, overview' : 'Countersign, my agents'}
        >
          <Logo size={24} />
          <span className={classes.brandName}>Countersign</span>
        </PageLink>
        <UnstyledButton className={classes.search ?? ''} onClick={palette.open} aria-keyshortcuts="Control+K">
          <Icon name="search" />
          <span className={classes.searchText}>Search</span>
          <Kbd size="xs" className={classes.searchKey ?? ''} aria-hidden>
            Ctrl K
          </Kbd>
        </UnstyledButton>
        <div className={classes.tools}>
          <WaitingLink />
          {!isMember(session) && <LiveIndicator />}
          <ThemeSwitch />
          <AccountMenu />
        </div>
      </header>
      <Navigation opened={navigationOpened} />
      <main id="main" ref={main} className={classes.main} tabIndex={-1}>
        <ConnectionNotice />
        <ExpiryWarning />
        <ErrorNotice />
        <Outlet />
      </main>
      <Palette opened={paletteOpened} onClose={palette.close} />
    </div>
  );
}

/** "3 approvals wait for you" */
const waitingText = (count: number): string =>
  `${count.toLocaleString('en')} ${count === 1 ? 'approval waits' : 'approvals wait'} for you`;

const maxShown = 999;
const figure = (count: number): string => (count > maxShown ? `${maxShown}+` : String(count));

/** Where the navigation is folded: the number stays in sight. */
function WaitingLink() {
  const waiting = useWaiting();
  return (
    <>
      <span className="visually-hidden" role="status">
        {waiting > 0 && waitingText(waiting)}
      </span>
      {waiting > 0 && (
        <PageLink to="/approvals" className={classes.waiting} aria-label={waitingText(waiting)}>
          <Icon name="approvals" />
          {figure(waiting)}
        </PageLink>
      )}
    </>
  );
}

function Navigation({ opened }: { readonly opened: boolean }) {
  const session = useSession();
  const waiting = useWaiting();
  return (
    <nav id="navigation" aria-label="Pages" className={classes.navigation} data-opened={opened || undefined}>
      {navigationFor(session).map(({ name, entries }) => (
        <div key={name} className={classes.group}>
          {name && <h2 className={classes.groupName}>{name}</h2>}
          <ul>
            {entries.map(({ path, title, navigation: entry }) => (
              <li key={path}>
                <PageLink
                  to={path}
                  className={classes.entry}
                  activeProps={{ 'data-active': true, 'aria-current': 'page' }}
                  activeOptions={{ exact: path === '/', includeSearch: false }}
                >
                  <Icon name={entry?.icon ?? 'page'} />
                  {entry?.label ?? title}
                  {entry?.counts === 'waiting' && waiting > 0 && (
                    <span className={classes.count}>
                      <span aria-hidden>{figure(waiting)}</span>
                      <span className="visually-hidden">, {waitingText(waiting)}</span>
                    </span>
                  )}
                </PageLink>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

const commandLine = 'Sign in to the command line';

function AccountMenu() {
  const session = useSession();
  const { signOut } = useSessionState();
  const [dialogOpened, dialog] = useDisclosure(false);
  const hasAgent = !isMember(session);
  useCommands([{ id: 'command-line', label: commandLine, keywords: 'cli terminal code', run: dialog.open }]);
  const name = session.person?.name ?? session.agentName;
  return (
    <>
      <Menu position="bottom-end" width={280}>
        <Menu.Target>
          <UnstyledButton className={classes.account ?? ''}>
            <span className="visually-hidden">Account</span>
            <span className={classes.names}>
              <TenantText text={session.organizationName} className={classes.organization} />
              <TenantText text={name} className={classes.agent} />
            </span>
            <Icon name="account" />
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>Organization</Menu.Label>
          <div className={classes.menuText}>
            <TenantText text={session.organizationName} />
            <TenantText text={session.organizationSlug} className={classes.slug} />
          </div>
          <Menu.Label>{session.person ? 'Signed in as' : 'Agent'}</Menu.Label>
          <div className={classes.menuText}>
            <TenantText text={name} />
            {session.person?.email && <TenantText text={session.person.email} className={classes.slug} />}
          </div>
          {session.person && hasAgent && (
            <>
              <Menu.Label>Acts as agent</Menu.Label>
              <div className={classes.menuText}>
                <TenantText text={session.agentName} />
              </div>
            </>
          )}
          <Menu.Label>Role</Menu.Label>
          <div className={classes.menuText}>
            <SessionRole session={session} />
          </div>
          <Menu.Divider />
          <Menu.Item leftSection={<Icon name="terminal" />} onClick={dialog.open}>
            {commandLine}
          </Menu.Item>
          <Menu.Item component="a" href="/docs" leftSection={<Icon name="docs" />}>
            Documentation
          </Menu.Item>
          <Menu.Item component="a" href="/docs/api" leftSection={<Icon name="apis" />}>
            API reference
          </Menu.Item>
          <Menu.Item
            leftSection={<Icon name="sign-out" />}
            onClick={() => signOut().catch((error) => showError(toApiError(error)))}
          >
            Sign out
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <CommandLineDialog opened={dialogOpened} onClose={dialog.close} />
    </>
  );
}
