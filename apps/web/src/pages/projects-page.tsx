import type { ProjectSummary } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus, Search, Warehouse } from 'lucide-react'
import { useState } from 'react'
import { projectsQuery } from '../api/queries.ts'
import { Button, buttonClass } from '../components/button.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { PageHeader } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { Table } from '../components/table.tsx'
import { useStored } from '../components/use-stored.ts'
import type { Labels } from '../modules/stack.ts'
import { useLabels } from '../modules/use-labels.ts'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'
import { Filters, type ListView, matches, noFilter } from './projects/list-filter.tsx'
import { ProjectCard } from './projects/project-card.tsx'
import { ProjectRow } from './projects/project-row.tsx'
import { useTitle } from './use-title.ts'

const t = texts.projects

export function ProjectsPage() {
  useTitle(t.title)
  const may = useMay('instance')
  const query = useQuery(projectsQuery)
  const labels = useLabels(null)
  const [filter, setFilter] = useState(noFilter)
  const [view, setView] = useStored<ListView>('stackquay.projects.view', ['cards', 'table'])
  const all = query.data ?? []
  const shown = all.filter((project) => matches(project, filter, labels))

  return (
    <div className="flex flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader
        title={
          <>
            {t.title}
            {all.length > 0 && (
              <span className="numbers ml-2 text-base font-normal text-ink-3">{t.count(shown.length, all.length)}</span>
            )}
          </>
        }
        actions={may('admin') && <NewLink />}
      />
      {all.length > 0 && <Filters filter={filter} onChange={setFilter} view={view} onView={setView} />}
      {query.isPending ? (
        <SkeletonList rows={5} height="h-14" />
      ) : query.isError && all.length === 0 ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : all.length === 0 ? (
        <div className="rounded-lg border border-dashed border-line-strong/60">
          <EmptyState icon={Warehouse} title={t.emptyTitle} detail={t.emptyDetail}>
            {may('admin') && (
              <Link to="/new" className={buttonClass('primary')}>
                <Plus aria-hidden className="size-4" />
                {t.new}
              </Link>
            )}
          </EmptyState>
        </div>
      ) : shown.length === 0 ? (
        <EmptyState icon={Search} title={t.noMatchTitle} detail={t.noMatchDetail}>
          <Button onClick={() => setFilter(noFilter)}>{t.clearFilter}</Button>
        </EmptyState>
      ) : (
        <ProjectList projects={shown} labels={labels} view={view} />
      )}
    </div>
  )
}

function NewLink() {
  return (
    <Link to="/new" className={buttonClass('primary')}>
      <Plus aria-hidden className="size-4" />
      {t.new}
    </Link>
  )
}

interface ProjectListProps {
  projects: readonly ProjectSummary[]
  labels: Labels
  view: ListView
}

function ProjectList({ projects, labels, view }: ProjectListProps) {
  if (view === 'cards')
    return (
      <ul className="grid grid-cols-1 gap-3 md:grid-cols-2 2xl:grid-cols-3 min-[2200px]:grid-cols-4">
        {projects.map((project) => (
          <ProjectCard key={project.id} project={project} labels={labels} />
        ))}
      </ul>
    )
  return (
    <div className="rounded-lg border border-line bg-surface">
      <Table
        label={t.title}
        head={[
          { title: t.columns.name },
          { title: t.columns.state },
          { title: t.columns.url },
          { title: t.columns.stack, className: 'max-lg:hidden' },
          { title: t.columns.cpu, className: 'max-sm:hidden' },
          { title: t.columns.memory, className: 'max-sm:hidden' },
          { title: t.columns.actions, hidden: true },
        ]}
      >
        {projects.map((project) => (
          <ProjectRow key={project.id} project={project} labels={labels} />
        ))}
      </Table>
    </div>
  )
}
