import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useLocation, useNavigate, useParams } from '@tanstack/react-router'
import { Copy, Ellipsis, Play, RefreshCcwDot, RotateCw, SearchX, Square, Trash2 } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { planNewerImages, restartWithNewerImages } from '../api/changes.ts'
import { isStatus } from '../api/client.ts'
import { projectQuery, servicesQuery } from '../api/queries.ts'
import { Button, buttonClass, IconButton } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { ExternalLink } from '../components/external-link.tsx'
import { Menu, MenuItem, MenuSeparator } from '../components/menu.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { abilitiesOf } from '../lib/engines.ts'
import { EngineBadge } from '../modules/engine-badge.tsx'
import { EngineSilence } from '../modules/engine-silence.tsx'
import { IsolationBadge } from '../modules/isolation-badge.tsx'
import { PlannedConfirm } from '../modules/planned-confirm.tsx'
import { actsOf, useLifecycle } from '../modules/project-actions.ts'
import { isEnabled } from '../modules/service-kind.ts'
import { ProjectStatePill } from '../modules/state-pill.tsx'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.project

/** The head of a project and its sections. */
export function ProjectPage() {
  const { project: ref } = useParams({ from: '/app/projects/$project' })
  const query = useQuery(projectQuery(ref))
  if (query.data !== undefined && !isStatus(query.error, 404)) {
    return (
      <div className="flex min-h-dvh flex-col max-lg:min-h-[calc(100dvh-3rem)]">
        <Header />
        <EngineSilence project={query.data} />
        <div className="flex min-w-0 flex-1 flex-col">
          <Outlet />
        </div>
      </div>
    )
  }
  if (query.isPending) return <SkeletonList rows={5} />
  if (isStatus(query.error, 404)) {
    return (
      <div className="pt-[10vh]">
        <h1 className="sr-only">{texts.errors.projectNotFound}</h1>
        <EmptyState
          icon={SearchX}
          title={texts.errors.projectNotFound}
          detail={texts.errors.projectNotFoundDetail(ref)}
        >
          <Link to="/" className={buttonClass()}>
            {texts.errors.backToProjects}
          </Link>
        </EmptyState>
      </div>
    )
  }
  return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
}

function Header() {
  const project = useProject()
  useTitle(project.name)
  const navigate = useNavigate()
  const { up, free, reason } = actsOf(project)
  const { busy, run } = useLifecycle(project.id)
  const may = useMay()
  const [renewing, setRenewing] = useState(false)
  const canRenew = may('operate') && abilitiesOf(project.engine).images
  const services = (useQuery(servicesQuery(project.engine)).data?.items ?? []).filter((item) => item.kind === 'service')
  const params = { project: project.slug }
  const { pathname } = useLocation()
  const sections = useRef<HTMLElement>(null)
  // On a phone the row of sections scrolls: the open one must be in sight, also when services that arrive later widen it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new place or a longer row is what moves it
  useEffect(() => {
    sections.current?.querySelector('[aria-current=page]')?.scrollIntoView({ inline: 'center', block: 'nearest' })
  }, [pathname, services.length])
  const settings = (hash: string) => navigate({ to: '/projects/$project/settings', params, hash })
  return (
    <header className="border-b border-line bg-surface px-4 pt-4 sm:px-6">
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
        <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          <h1 className="max-w-full truncate text-xl">{project.name}</h1>
          <ProjectStatePill state={project.status.state} />
          <EngineBadge engine={project.engine} />
          <IsolationBadge engine={project.engine} />
          {project.url !== '' && (
            <span className="flex min-w-0 items-center gap-1 text-sm">
              <ExternalLink href={project.url} />
              <CopyButton text={project.url} label={t.copyUrl} />
            </span>
          )}
        </div>
        <div className="flex items-center gap-2">
          {!may('operate') ? null : up ? (
            <>
              <Button
                icon={RotateCw}
                busy={busy === 'restart'}
                disabled={!free}
                reason={reason}
                onClick={() => void run('restart')}
              >
                {t.restart}
              </Button>
              <Button
                icon={Square}
                busy={busy === 'stop'}
                disabled={!free}
                reason={reason}
                onClick={() => void run('stop')}
              >
                {t.stop}
              </Button>
            </>
          ) : (
            <Button
              icon={Play}
              look="primary"
              busy={busy === 'start'}
              disabled={!free}
              reason={reason}
              onClick={() => void run('start')}
            >
              {t.start}
            </Button>
          )}
          {(may('admin') || canRenew) && (
            <Menu trigger={<IconButton icon={Ellipsis} label={texts.common.moreActions} look="secondary" />}>
              {canRenew && (
                <MenuItem icon={RefreshCcwDot} disabled={!free} onSelect={() => setRenewing(true)}>
                  {texts.images.restartNewer}
                </MenuItem>
              )}
              {may('admin') && (
                <>
                  <MenuItem icon={Copy} onSelect={() => void settings('duplicate')}>
                    {t.duplicate}
                  </MenuItem>
                  <MenuSeparator />
                  <MenuItem icon={Trash2} danger onSelect={() => void settings('delete')}>
                    {t.delete}
                  </MenuItem>
                </>
              )}
            </Menu>
          )}
          <PlannedConfirm
            open={renewing}
            onClose={() => setRenewing(false)}
            title={texts.images.restartNewerTitle(project.name)}
            detail={texts.images.restartNewerDetail}
            look="primary"
            submit={texts.images.restartNewerSubmit}
            name={['newer-images', project.id]}
            ask={(signal) => planNewerImages(project.id, signal)}
            onConfirm={async () => {
              const operation = await restartWithNewerImages(project.id)
              await navigate({ to: '/operations/$operation', params: { operation: operation.id } })
            }}
          />
        </div>
      </div>
      <nav
        ref={sections}
        aria-label={t.sections}
        className="scroll-none -mx-4 mt-3 flex gap-1 overflow-x-auto px-3 sm:-mx-6 sm:px-5"
      >
        <Section to="/projects/$project" exact label={t.tabs.overview} project={project.slug} />
        <Section to="/projects/$project/logs" label={t.tabs.logs} project={project.slug} />
        <Section to="/projects/$project/actions" label={t.tabs.actions} project={project.slug} />
        <Section to="/projects/$project/tests" label={t.tabs.tests} project={project.slug} />
        {may('operate') && <Section to="/projects/$project/terminal" label={t.tabs.terminal} project={project.slug} />}
        <Section
          to="/projects/$project/environment"
          label={t.tabs.env}
          project={project.slug}
          count={Object.keys(project.env).length}
        />
        <Section
          to="/projects/$project/databases"
          label={t.tabs.databases}
          project={project.slug}
          count={Object.keys(project.databases).length}
        />
        <Section
          to="/projects/$project/services"
          label={t.tabs.services}
          project={project.slug}
          count={services.filter((kind) => isEnabled(project, kind)).length}
        />
        {may('operate') && services.some((kind) => kind.hasInbox && isEnabled(project, kind)) && (
          <Section to="/projects/$project/mail" label={t.tabs.mail} project={project.slug} />
        )}
        <Section to="/projects/$project/runtimes" label={t.tabs.runtimes} project={project.slug} />
        <Section to="/projects/$project/network" label={t.tabs.network} project={project.slug} />
        <Section to="/projects/$project/settings" label={t.tabs.settings} project={project.slug} />
      </nav>
    </header>
  )
}

type SectionPath =
  | '/projects/$project'
  | `/projects/$project/${'logs' | 'actions' | 'tests' | 'terminal' | 'environment' | 'databases' | 'services' | 'mail' | 'runtimes' | 'network' | 'settings'}`

function Section({
  to,
  label,
  project,
  exact,
  count,
}: {
  to: SectionPath
  label: string
  project: string
  exact?: boolean
  count?: number
}) {
  return (
    <Link
      to={to}
      params={{ project }}
      activeOptions={{ exact: exact ?? false, includeSearch: false, includeHash: false }}
      className="relative flex h-10 shrink-0 items-center gap-1.5 rounded-md px-2 text-ink-2 hover:text-ink focus-visible:-outline-offset-2 aria-[current=page]:font-medium aria-[current=page]:text-ink aria-[current=page]:after:absolute aria-[current=page]:after:inset-x-2 aria-[current=page]:after:bottom-0 aria-[current=page]:after:h-0.5 aria-[current=page]:after:rounded-full aria-[current=page]:after:bg-accent"
    >
      {label}
      {count !== undefined && count > 0 && (
        <span className="numbers rounded-full bg-idle-soft px-1.5 text-xs leading-4.5 font-normal text-ink-2">
          {count}
        </span>
      )}
    </Link>
  )
}
