import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useParams } from '@tanstack/react-router'
import { SearchX } from 'lucide-react'
import { isStatus } from '../api/client.ts'
import { projectQuery } from '../api/queries.ts'
import { buttonClass } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { ExternalLink } from '../components/external-link.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { EngineBadge } from '../modules/engine-badge.tsx'
import { EngineSilence } from '../modules/engine-silence.tsx'
import { IsolationBadge } from '../modules/isolation-badge.tsx'
import { ProjectStatePill } from '../modules/state-pill.tsx'
import { texts } from '../texts/index.ts'
import { Lifecycle, MoreActions } from './project/header-actions.tsx'
import { Sections } from './project/sections.tsx'
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
          <Lifecycle project={project} />
          <MoreActions project={project} />
        </div>
      </div>
      <Sections project={project} />
    </header>
  )
}
