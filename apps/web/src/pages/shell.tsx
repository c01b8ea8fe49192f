import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useLocation, useRouter } from '@tanstack/react-router'
import {
  Activity,
  Archive,
  Bell,
  BookOpen,
  ChevronsUpDown,
  FileKey,
  Fingerprint,
  KeyRound,
  LogIn,
  LogOut,
  type LucideIcon,
  Menu as MenuIcon,
  MonitorSmartphone,
  Puzzle,
  ScrollText,
  Search,
  ShieldCheck,
  SlidersHorizontal,
  Stethoscope,
  Trash2,
  UserRound,
  Users,
  Vault,
  Warehouse,
  Webhook,
} from 'lucide-react'
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { onSessionEnd } from '../api/client.ts'
import { connectionNow, followEvents, onConnection } from '../api/events.ts'
import { meQuery, projectsQuery } from '../api/queries.ts'
import { keepSessionKey } from '../api/session-key.ts'
import { IconButton } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { Dialog } from '../components/dialog.tsx'
import { Mark } from '../components/mark.tsx'
import { Menu, MenuChoice, MenuItem, MenuSeparator } from '../components/menu.tsx'
import { ProjectStateIcon } from '../modules/state-pill.tsx'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'
import { PasswordDialog } from './password-dialog.tsx'
import { setTheme, type Theme, themeNow } from './theme.ts'
import { useLogOut } from './use-log-out.ts'

const Palette = lazy(async () => ({ default: (await import('../modules/palette.tsx')).Palette }))

/** The frame of every page behind the login: navigation, account, keyboard, and the event stream. */
export function Shell() {
  const [paletteOpen, setPaletteOpen] = useState(false)
  const [menuOpen, setMenuOpen] = useState(false)
  const location = useLocation()
  useSession()
  useKeyboard(() => setPaletteOpen(true))

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new place closes the menu
  useEffect(() => setMenuOpen(false), [location.href])

  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="absolute -top-20 left-2 z-50 rounded-md bg-accent px-3 py-2 text-on-accent focus:top-2"
      >
        {texts.common.skipToContent}
      </a>
      <aside className="sticky top-0 hidden h-dvh flex-col border-r border-line bg-sunken lg:flex">
        <Navigation onSearch={() => setPaletteOpen(true)} />
      </aside>
      <div className="sticky top-0 z-20 flex h-12 items-center gap-2 border-b border-line bg-sunken px-2 lg:hidden">
        <IconButton icon={MenuIcon} label={texts.nav.openMenu} onClick={() => setMenuOpen(true)} />
        <Link to="/" className="flex items-center gap-2 rounded font-semibold">
          <Mark className="size-6" />
          {texts.product}
        </Link>
        <span className="flex-1" />
        <ConnectionSign quiet />
        <IconButton icon={Search} label={texts.nav.search} onClick={() => setPaletteOpen(true)} />
      </div>
      <Dialog open={menuOpen} onClose={() => setMenuOpen(false)} title={texts.product}>
        <div className="-mx-3 -mb-3 flex flex-col">
          <Navigation onSearch={() => setPaletteOpen(true)} inDialog />
        </div>
      </Dialog>
      <main id="content" tabIndex={-1} className="min-w-0 outline-none">
        <Outlet />
      </main>
      {paletteOpen && (
        <Suspense fallback={null}>
          <Palette open onClose={() => setPaletteOpen(false)} />
        </Suspense>
      )}
    </div>
  )
}

function Navigation({ onSearch, inDialog }: { onSearch: () => void; inDialog?: boolean }) {
  const may = useMay('instance')
  return (
    <>
      {!inDialog && (
        <div className="flex h-13 shrink-0 items-center px-4">
          <Link to="/" className="flex items-center gap-2.5 rounded text-base font-semibold tracking-tight">
            <Mark className="size-6" />
            {texts.product}
          </Link>
        </div>
      )}
      {!inDialog && (
        <div className="px-3 pb-3">
          <button
            type="button"
            onClick={onSearch}
            className="flex h-8 w-full items-center gap-2 rounded-md border border-line bg-surface px-2.5 text-left text-ink-3 hover:border-line-strong"
          >
            <Search aria-hidden className="size-3.5" />
            <span className="flex-1 truncate text-sm">{texts.nav.search}</span>
            <kbd className="text-xs">{shortcut}</kbd>
          </button>
        </div>
      )}
      <nav
        aria-label={texts.nav.main}
        className="scroll-thin flex min-h-0 flex-1 flex-col gap-0.5 overflow-y-auto px-3 pb-3"
      >
        <Item to="/" icon={Warehouse} exact>
          {texts.nav.projects}
        </Item>
        <Pinned />
        <Item to="/activity" icon={Activity}>
          {texts.nav.activity}
        </Item>
        <Item to="/logs" icon={ScrollText}>
          {texts.nav.logs}
        </Item>
        <p className="px-2.5 pt-4 pb-1 text-xs font-medium text-ink-3">{texts.nav.settings}</p>
        <OwnItems />
        {may('admin') && <InstanceItems />}
        <a href="/api/docs" target="_blank" rel="noreferrer" className={itemClass}>
          <BookOpen aria-hidden className="size-4 text-ink-3" />
          {texts.nav.reference}
          <span className="sr-only">{texts.common.opensInNewTab}</span>
        </a>
      </nav>
      <div className="flex shrink-0 flex-col gap-1 border-t border-line p-3">
        <ConnectionSign />
        <Account />
      </div>
    </>
  )
}

/** What administrators have. */
function InstanceItems() {
  return (
    <>
      <Item to="/settings/users" icon={Users}>
        {texts.nav.users}
      </Item>
      <Item to="/settings/general" icon={SlidersHorizontal}>
        {texts.nav.general}
      </Item>
      <Item to="/settings/sign-in" icon={LogIn}>
        {texts.nav.signIn}
      </Item>
      <Item to="/settings/certificates" icon={ShieldCheck}>
        {texts.nav.certificates}
      </Item>
      <Item to="/settings/secret-key" icon={Vault}>
        {texts.nav.secretKey}
      </Item>
      <Item to="/settings/addons" icon={Puzzle}>
        {texts.nav.addons}
      </Item>
      <Item to="/settings/backups" icon={Archive}>
        {texts.nav.backups}
      </Item>
      <Item to="/settings/trash" icon={Trash2}>
        {texts.nav.trash}
      </Item>
      <Item to="/settings/webhooks" icon={Webhook}>
        {texts.nav.webhooks}
      </Item>
      <Item to="/settings/notifications" icon={Bell}>
        {texts.nav.notifications}
      </Item>
      <Item to="/settings/diagnostics" icon={Stethoscope}>
        {texts.nav.diagnostics}
      </Item>
    </>
  )
}

/** What each person has. */
function OwnItems() {
  return (
    <>
      <Item to="/settings/tokens" icon={KeyRound}>
        {texts.nav.tokens}
      </Item>
      <Item to="/settings/second-factor" icon={Fingerprint}>
        {texts.nav.secondFactor}
      </Item>
      <Item to="/settings/sessions" icon={MonitorSmartphone}>
        {texts.nav.sessions}
      </Item>
      <Item to="/settings/ssh-keys" icon={FileKey}>
        {texts.nav.sshKeys}
      </Item>
    </>
  )
}

const itemClass =
  'flex h-8 items-center gap-2.5 rounded-md px-2.5 text-ink-2 hover:bg-hover hover:text-ink aria-[current=page]:bg-hover aria-[current=page]:font-medium aria-[current=page]:text-ink'

function Item({
  to,
  icon: Icon,
  exact,
  children,
}: {
  to:
    | '/'
    | '/activity'
    | '/logs'
    | `/settings/${'tokens' | 'second-factor' | 'sessions' | 'ssh-keys' | 'users' | 'general' | 'sign-in' | 'certificates' | 'secret-key' | 'addons' | 'backups' | 'trash' | 'webhooks' | 'notifications' | 'diagnostics'}`
  icon: LucideIcon
  exact?: boolean
  children: string
}) {
  return (
    <Link to={to} activeOptions={{ exact: exact ?? false, includeSearch: false }} className={itemClass}>
      <Icon aria-hidden className="size-4 text-ink-3" />
      {children}
    </Link>
  )
}

/** The projects that are up, so that the way to what one works on is one click. */
function Pinned() {
  const projects = useQuery(projectsQuery).data ?? []
  const up = projects.filter((project) => project.status.state !== 'stopped' || project.operation !== null).slice(0, 8)
  if (up.length === 0) return null
  return (
    <ul className="mb-1 ml-4.5 flex flex-col border-l border-line pl-2">
      {up.map((project) => (
        <li key={project.id}>
          <Link
            to="/projects/$project"
            params={{ project: project.slug }}
            activeOptions={{ includeSearch: false }}
            className={cx(itemClass, 'h-7 gap-2 px-2 text-sm')}
          >
            <span className="min-w-0 flex-1 truncate">{project.name}</span>
            <ProjectStateIcon state={project.status.state} />
          </Link>
        </li>
      ))}
    </ul>
  )
}

function Account() {
  const me = useQuery(meQuery).data
  const [passwordOpen, setPasswordOpen] = useState(false)
  const theme = useSyncExternalStore(themeNow.subscribe, themeNow.read)
  const logOut = useLogOut()
  if (!me) return null
  return (
    <>
      <Menu
        align="start"
        trigger={
          <button
            type="button"
            className="flex h-10 w-full items-center gap-2.5 rounded-md px-1.5 text-left hover:bg-hover"
          >
            <span className="flex size-7 items-center justify-center rounded-full border border-line bg-surface text-ink-2">
              <UserRound aria-hidden className="size-4" />
            </span>
            <span className="sr-only">{texts.account.menu}</span>
            <span className="min-w-0 flex-1 leading-4">
              <span className="block truncate text-sm font-medium">{me.user}</span>
              <span className="block truncate text-xs text-ink-3">
                {me.role === null ? texts.account.rolesOnProjects : texts.account.roles[me.role]}
              </span>
            </span>
            <ChevronsUpDown aria-hidden className="size-3.5 text-ink-3" />
          </button>
        }
      >
        <MenuChoice<Theme>
          label={texts.account.theme}
          value={theme}
          onChange={setTheme}
          options={(['system', 'light', 'dark'] as const).map((value) => ({
            value,
            label: texts.account.themes[value],
          }))}
        />
        <MenuSeparator />
        <MenuItem icon={KeyRound} onSelect={() => setPasswordOpen(true)}>
          {texts.account.changePassword}
        </MenuItem>
        <MenuItem icon={LogOut} onSelect={() => void logOut()}>
          {texts.account.logOut}
        </MenuItem>
      </Menu>
      <PasswordDialog open={passwordOpen} onClose={() => setPasswordOpen(false)} user={me.user} />
    </>
  )
}

function ConnectionSign({ quiet }: { quiet?: boolean }) {
  const state = useSyncExternalStore(onConnection, connectionNow)
  const [late, setLate] = useState(false)
  useEffect(() => {
    setLate(false)
    if (state === 'live') return
    const timer = setTimeout(() => setLate(true), 1500)
    return () => clearTimeout(timer)
  }, [state])
  // A connection that comes at once needs no words.
  const shown: ReactNode = state === 'live' || !late ? null : texts.connection[state]
  return (
    <p role="status" className={cx('flex items-center gap-2 text-xs text-warn', !quiet && shown && 'px-2 pb-1')}>
      {shown && <span aria-hidden className="size-2 animate-pulse rounded-xs bg-warn" />}
      {shown}
    </p>
  )
}

/** The event stream lives as long as the session; a session that ends leads to the login and back. */
function useSession(): void {
  const router = useRouter()
  const queries = useQueryClient()
  useEffect(() => {
    const stop = new AbortController()
    followEvents(stop.signal)
    let asking = false
    onSessionEnd(async () => {
      if (asking || router.state.location.pathname === '/login') return
      if (queries.getQueryData(meQuery.queryKey) === null) return
      // A wrong password where it is asked for again is refused with the same status, and ends nothing.
      asking = true
      const me = await queries.fetchQuery({ ...meQuery, staleTime: 0 }).catch(() => undefined)
      asking = false
      if (me !== null) return
      const next = router.state.location.href
      keepSessionKey(null)
      void router.navigate({ to: '/login', search: next === '/' ? {} : { next } })
    })
    return () => {
      stop.abort()
      onSessionEnd(() => {})
    }
  }, [router, queries])
}

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent)
const shortcut = isMac ? '⌘K' : 'Ctrl K'

/** ⌘K or Ctrl-K opens the palette anywhere; `/` goes to the search of the page, or to the palette where there is none. */
function useKeyboard(openPalette: () => void): void {
  const act = useRef(openPalette)
  act.current = openPalette
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      // In a terminal Ctrl-K and all other keys belong to the program in it.
      if (!isMac && event.target instanceof Element && event.target.closest('[data-own-keys]')) return
      if (
        (isMac ? event.metaKey : event.ctrlKey) &&
        event.key.toLowerCase() === 'k' &&
        !event.altKey &&
        !event.shiftKey
      ) {
        event.preventDefault()
        act.current()
        return
      }
      const typing =
        event.target instanceof HTMLElement &&
        event.target.closest('input, textarea, select, [contenteditable], [role="dialog"]')
      if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      const search = document.querySelector<HTMLInputElement>('#content input[type="search"]')
      if (search === null) act.current()
      else search.select()
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
}
