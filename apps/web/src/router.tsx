import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { meQuery, setupQuery } from './api/queries.ts'
import { queryClient } from './api/query-client.ts'
import { type AuditFilter, readAuditFilter } from './lib/audit-filter.ts'
import { type BrowserSearch, readBrowserSearch } from './lib/browser-search.ts'
import { readEnterSearch } from './lib/enter.ts'
import { type FilesSearch, readFilesSearch } from './lib/files.ts'
import { type LogSearch, readLogSearch } from './lib/log-query.ts'
import { type AllLogsSearch, readAllLogsSearch } from './lib/log-search.ts'
import { type NetworkSearch, readNetworkSearch } from './lib/network-search.ts'
import { NotFoundPage } from './pages/not-found-page.tsx'
import { RouteError } from './pages/route-error.tsx'
import { Shell } from './pages/shell.tsx'

const root = createRootRoute({ notFoundComponent: NotFoundPage, errorComponent: RouteError })

/** Only paths of this page: a crafted link must not lead elsewhere after the login. */
export function ownPath(next: unknown): string | undefined {
  return typeof next === 'string' && /^\/(?![/\\])/.test(next) ? next : undefined
}

const setup = createRoute({
  getParentRoute: () => root,
  path: '/setup',
  beforeLoad: async () => {
    if (!(await queryClient.fetchQuery(setupQuery)).needsSetup) throw redirect({ to: '/login', search: {} })
  },
  component: lazyRouteComponent(() => import('./pages/setup-page.tsx'), 'SetupPage'),
})

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: (search): { next?: string } => {
    const next = ownPath(search.next)
    return next === undefined ? {} : { next }
  },
  beforeLoad: async () => {
    if ((await queryClient.fetchQuery(setupQuery)).needsSetup) throw redirect({ to: '/setup' })
  },
  component: lazyRouteComponent(() => import('./pages/login-page.tsx'), 'LoginPage'),
})

/** Whoever has a link needs no session, and may have one. */
const welcome = createRoute({
  getParentRoute: () => root,
  path: '/welcome',
  component: lazyRouteComponent(() => import('./pages/welcome-page.tsx'), 'WelcomePage'),
})

async function needsSession({ location }: { readonly location: { readonly href: string } }): Promise<void> {
  const me = await queryClient.ensureQueryData(meQuery)
  if (me?.mustEnrol === true)
    throw redirect({ to: '/enrol', search: location.href === '/' ? {} : { next: location.href } })
  if (me !== null) return
  const { needsSetup } = await queryClient.fetchQuery(setupQuery)
  if (needsSetup) throw redirect({ to: '/setup' })
  throw redirect({ to: '/login', search: location.href === '/' ? {} : { next: location.href } })
}

/** Without the frame: nothing that is in it is open yet. */
const enrol = createRoute({
  getParentRoute: () => root,
  path: '/enrol',
  validateSearch: (search): { next?: string } => {
    const next = ownPath(search.next)
    return next === undefined ? {} : { next }
  },
  beforeLoad: async () => {
    if ((await queryClient.ensureQueryData(meQuery)) === null) throw redirect({ to: '/login', search: {} })
  },
  component: lazyRouteComponent(() => import('./pages/enrol-page.tsx'), 'EnrolPage'),
})

/** Where the page of a service sends whoever it does not know. */
const enter = createRoute({
  getParentRoute: () => root,
  path: '/enter',
  validateSearch: readEnterSearch,
  beforeLoad: needsSession,
  component: lazyRouteComponent(() => import('./pages/enter-page.tsx'), 'EnterPage'),
})

/** Everything else that needs a session. */
const app = createRoute({
  getParentRoute: () => root,
  id: 'app',
  beforeLoad: needsSession,
  component: Shell,
})

const projects = createRoute({
  getParentRoute: () => app,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/projects-page.tsx'), 'ProjectsPage'),
})
/** Where people look for it who shorten a project's address. */
const projectsAlias = createRoute({
  getParentRoute: () => app,
  path: '/projects',
  beforeLoad: () => {
    throw redirect({ to: '/', replace: true })
  },
})
const newProject = createRoute({
  getParentRoute: () => app,
  path: '/new',
  component: lazyRouteComponent(() => import('./pages/new-project-page.tsx'), 'NewProjectPage'),
})

const project = createRoute({
  getParentRoute: () => app,
  path: '/projects/$project',
  component: lazyRouteComponent(() => import('./pages/project-page.tsx'), 'ProjectPage'),
})
const overview = createRoute({
  getParentRoute: () => project,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/overview-page.tsx'), 'OverviewPage'),
})
const logs = createRoute({
  getParentRoute: () => project,
  path: '/logs',
  validateSearch: (search): LogSearch => readLogSearch(search),
  component: lazyRouteComponent(() => import('./pages/logs-page.tsx'), 'LogsPage'),
})
/** The run that is shown stands in the address: a reload comes back to it. */
function readRun(search: Record<string, unknown>): { run?: string } {
  return typeof search.run === 'string' && /^[\w-]{1,60}$/.test(search.run) ? { run: search.run } : {}
}
const actions = createRoute({
  getParentRoute: () => project,
  path: '/actions',
  validateSearch: readRun,
  component: lazyRouteComponent(() => import('./pages/actions-page.tsx'), 'ActionsPage'),
})
const workers = createRoute({
  getParentRoute: () => project,
  path: '/workers',
  validateSearch: readRun,
  component: lazyRouteComponent(() => import('./pages/workers-page.tsx'), 'WorkersPage'),
})
const tests = createRoute({
  getParentRoute: () => project,
  path: '/tests',
  validateSearch: readRun,
  component: lazyRouteComponent(() => import('./pages/tests-page.tsx'), 'TestsPage'),
})
const ssh = createRoute({
  getParentRoute: () => project,
  path: '/ssh',
  component: lazyRouteComponent(() => import('./pages/ssh-page.tsx'), 'SshPage'),
})
const files = createRoute({
  getParentRoute: () => project,
  path: '/files',
  validateSearch: (search): FilesSearch => readFilesSearch(search),
  component: lazyRouteComponent(() => import('./pages/files-page.tsx'), 'FilesPage'),
})
const terminal = createRoute({
  getParentRoute: () => project,
  path: '/terminal',
  validateSearch: (search): { term?: string } =>
    typeof search.term === 'string' && /^[\w-]{1,60}$/.test(search.term) ? { term: search.term } : {},
  component: lazyRouteComponent(() => import('./pages/terminal-page.tsx'), 'TerminalPage'),
})
const env = createRoute({
  getParentRoute: () => project,
  path: '/environment',
  component: lazyRouteComponent(() => import('./pages/env-page.tsx'), 'EnvPage'),
})
const databases = createRoute({
  getParentRoute: () => project,
  path: '/databases',
  component: lazyRouteComponent(() => import('./pages/databases-page.tsx'), 'DatabasesPage'),
})
const databaseBrowser = createRoute({
  getParentRoute: () => project,
  path: '/databases/$database/browse',
  validateSearch: (search): BrowserSearch => readBrowserSearch(search),
  component: lazyRouteComponent(() => import('./pages/database-browser-page.tsx'), 'DatabaseBrowserPage'),
})
const backups = createRoute({
  getParentRoute: () => project,
  path: '/backups',
  component: lazyRouteComponent(() => import('./pages/backups-page.tsx'), 'BackupsPage'),
})
const git = createRoute({
  getParentRoute: () => project,
  path: '/git',
  component: lazyRouteComponent(() => import('./pages/git-page.tsx'), 'GitPage'),
})
const runtimes = createRoute({
  getParentRoute: () => project,
  path: '/runtimes',
  component: lazyRouteComponent(() => import('./pages/runtimes-page.tsx'), 'RuntimesPage'),
})
const services = createRoute({
  getParentRoute: () => project,
  path: '/services',
  component: lazyRouteComponent(() => import('./pages/services-page.tsx'), 'ServicesPage'),
})
const keys = createRoute({
  getParentRoute: () => project,
  path: '/services/$service/keys',
  component: lazyRouteComponent(() => import('./pages/keys-page.tsx'), 'KeysPage'),
})
const mail = createRoute({
  getParentRoute: () => project,
  path: '/mail',
  validateSearch: (search): { message?: string } =>
    typeof search.message === 'string' && /^[0-9a-f]{32}$/.test(search.message) ? { message: search.message } : {},
  component: lazyRouteComponent(() => import('./pages/mail-page.tsx'), 'MailPage'),
})
const network = createRoute({
  getParentRoute: () => project,
  path: '/network',
  validateSearch: (search): NetworkSearch => readNetworkSearch(search),
  component: lazyRouteComponent(() => import('./pages/network-page.tsx'), 'NetworkPage'),
})
const projectSettings = createRoute({
  getParentRoute: () => project,
  path: '/settings',
  component: lazyRouteComponent(() => import('./pages/project-settings-page.tsx'), 'ProjectSettingsPage'),
})

const operation = createRoute({
  getParentRoute: () => app,
  path: '/operations/$operation',
  component: lazyRouteComponent(() => import('./pages/operation-page.tsx'), 'OperationPage'),
})
const allLogs = createRoute({
  getParentRoute: () => app,
  path: '/logs',
  validateSearch: (search): AllLogsSearch => readAllLogsSearch(search),
  component: lazyRouteComponent(() => import('./pages/all-logs-page.tsx'), 'AllLogsPage'),
})
const activity = createRoute({
  getParentRoute: () => app,
  path: '/activity',
  validateSearch: (search): { view?: 'audit' } & AuditFilter =>
    search.view === 'audit' ? { view: 'audit', ...readAuditFilter(search) } : {},
  component: lazyRouteComponent(() => import('./pages/activity-page.tsx'), 'ActivityPage'),
})
const tokens = createRoute({
  getParentRoute: () => app,
  path: '/settings/tokens',
  component: lazyRouteComponent(() => import('./pages/tokens-page.tsx'), 'TokensPage'),
})
const sessions = createRoute({
  getParentRoute: () => app,
  path: '/settings/sessions',
  component: lazyRouteComponent(() => import('./pages/sessions-page.tsx'), 'SessionsPage'),
})
const secondFactor = createRoute({
  getParentRoute: () => app,
  path: '/settings/second-factor',
  component: lazyRouteComponent(() => import('./pages/second-factor-page.tsx'), 'SecondFactorPage'),
})
const sshKeys = createRoute({
  getParentRoute: () => app,
  path: '/settings/ssh-keys',
  component: lazyRouteComponent(() => import('./pages/ssh-keys-page.tsx'), 'SshKeysPage'),
})
const users = createRoute({
  getParentRoute: () => app,
  path: '/settings/users',
  component: lazyRouteComponent(() => import('./pages/users-page.tsx'), 'UsersPage'),
})
const general = createRoute({
  getParentRoute: () => app,
  path: '/settings/general',
  component: lazyRouteComponent(() => import('./pages/general-page.tsx'), 'GeneralPage'),
})
const signIn = createRoute({
  getParentRoute: () => app,
  path: '/settings/sign-in',
  component: lazyRouteComponent(() => import('./pages/sign-in-page.tsx'), 'SignInPage'),
})
const certificates = createRoute({
  getParentRoute: () => app,
  path: '/settings/certificates',
  component: lazyRouteComponent(() => import('./pages/certificates-page.tsx'), 'CertificatesPage'),
})
const secretKey = createRoute({
  getParentRoute: () => app,
  path: '/settings/secret-key',
  component: lazyRouteComponent(() => import('./pages/secret-key-page.tsx'), 'SecretKeyPage'),
})
const allBackups = createRoute({
  getParentRoute: () => app,
  path: '/settings/backups',
  component: lazyRouteComponent(() => import('./pages/all-backups-page.tsx'), 'AllBackupsPage'),
})
const addons = createRoute({
  getParentRoute: () => app,
  path: '/settings/addons',
  component: lazyRouteComponent(() => import('./pages/addons-page.tsx'), 'AddonsPage'),
})
const trash = createRoute({
  getParentRoute: () => app,
  path: '/settings/trash',
  component: lazyRouteComponent(() => import('./pages/trash-page.tsx'), 'TrashPage'),
})
const webhooks = createRoute({
  getParentRoute: () => app,
  path: '/settings/webhooks',
  validateSearch: (search): { hook?: string } =>
    typeof search.hook === 'string' && /^[\w-]{1,60}$/.test(search.hook) ? { hook: search.hook } : {},
  component: lazyRouteComponent(() => import('./pages/webhooks-page.tsx'), 'WebhooksPage'),
})
const notifications = createRoute({
  getParentRoute: () => app,
  path: '/settings/notifications',
  validateSearch: (search): { channel?: string } =>
    typeof search.channel === 'string' && /^[\w-]{1,60}$/.test(search.channel) ? { channel: search.channel } : {},
  component: lazyRouteComponent(() => import('./pages/notifications-page.tsx'), 'NotificationsPage'),
})
const diagnostics = createRoute({
  getParentRoute: () => app,
  path: '/settings/diagnostics',
  component: lazyRouteComponent(() => import('./pages/diagnostics-page.tsx'), 'DiagnosticsPage'),
})

export const router = createRouter({
  routeTree: root.addChildren([
    setup,
    login,
    welcome,
    enter,
    enrol,
    app.addChildren([
      projects,
      projectsAlias,
      newProject,
      project.addChildren([
        overview,
        logs,
        actions,
        tests,
        files,
        terminal,
        ssh,
        env,
        databases,
        databaseBrowser,
        services,
        keys,
        workers,
        backups,
        git,
        mail,
        runtimes,
        network,
        projectSettings,
      ]),
      operation,
      activity,
      allLogs,
      tokens,
      sessions,
      secondFactor,
      sshKeys,
      users,
      general,
      signIn,
      certificates,
      secretKey,
      addons,
      allBackups,
      trash,
      webhooks,
      notifications,
      diagnostics,
    ]),
  ]),
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
