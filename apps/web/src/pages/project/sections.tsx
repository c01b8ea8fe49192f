import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { servicesQuery } from '../../api/queries.ts'
import { isEnabled } from '../../modules/service-type.ts'
import { useMay } from '../../modules/use-may.ts'
import { texts } from '../../texts/index.ts'

const t = texts.project

export function Sections({ project }: { project: ProjectView }) {
  const may = useMay()
  const services = (useQuery(servicesQuery(project.engine)).data?.items ?? []).filter((item) => item.kind === 'service')
  const { pathname } = useLocation()
  const sections = useRef<HTMLElement>(null)
  // On a phone the row of sections scrolls: the open one must be in sight, also when services that arrive later widen it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new place or a longer row is what moves it
  useEffect(() => {
    sections.current?.querySelector('[aria-current=page]')?.scrollIntoView({ inline: 'center', block: 'nearest' })
  }, [pathname, services.length])
  return (
    <nav
      ref={sections}
      aria-label={t.sections}
      className="scroll-none -mx-4 mt-3 flex gap-1 overflow-x-auto px-3 sm:-mx-6 sm:px-5"
    >
      <Section to="/projects/$project" exact label={t.tabs.overview} project={project.slug} />
      <Section to="/projects/$project/logs" label={t.tabs.logs} project={project.slug} />
      <Section to="/projects/$project/actions" label={t.tabs.actions} project={project.slug} />
      <Section to="/projects/$project/tests" label={t.tabs.tests} project={project.slug} />
      {may('operate') && <Section to="/projects/$project/files" label={t.tabs.files} project={project.slug} />}
      {may('operate') && <Section to="/projects/$project/terminal" label={t.tabs.terminal} project={project.slug} />}
      {may('operate') && <Section to="/projects/$project/ssh" label={t.tabs.ssh} project={project.slug} />}
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
        count={services.filter((type) => isEnabled(project, type)).length}
      />
      {may('operate') && services.some((type) => type.hasInbox && isEnabled(project, type)) && (
        <Section to="/projects/$project/mail" label={t.tabs.mail} project={project.slug} />
      )}
      <Section
        to="/projects/$project/workers"
        label={t.tabs.workers}
        project={project.slug}
        count={Object.keys(project.workers ?? {}).length + Object.keys(project.cron ?? {}).length}
      />
      <Section to="/projects/$project/backups" label={t.tabs.backups} project={project.slug} />
      <Section to="/projects/$project/git" label={t.tabs.git} project={project.slug} />
      <Section to="/projects/$project/runtimes" label={t.tabs.runtimes} project={project.slug} />
      <Section to="/projects/$project/network" label={t.tabs.network} project={project.slug} />
      <Section to="/projects/$project/settings" label={t.tabs.settings} project={project.slug} />
    </nav>
  )
}

type SectionPath =
  | '/projects/$project'
  | `/projects/$project/${'logs' | 'actions' | 'tests' | 'files' | 'terminal' | 'ssh' | 'environment' | 'databases' | 'services' | 'workers' | 'backups' | 'git' | 'mail' | 'runtimes' | 'network' | 'settings'}`

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
