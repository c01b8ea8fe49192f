import type { ProjectSummary } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import {
  LayoutGrid,
  type LucideIcon,
  ExternalLink as OpenIcon,
  Play,
  Plus,
  RotateCw,
  Rows3,
  Search,
  Square,
  TriangleAlert,
  Warehouse,
} from 'lucide-react'
import { type ReactNode, type RefObject, useRef, useState } from 'react'
import { projectsQuery } from '../api/queries.ts'
import { Button, buttonClass, IconButton, iconButtonClass } from '../components/button.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { ExternalLink } from '../components/external-link.tsx'
import { Segments } from '../components/field.tsx'
import { PageHeader } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { Cell, Table } from '../components/table.tsx'
import { Tip } from '../components/tip.tsx'
import { useStored } from '../components/use-stored.ts'
import { formatBytes, formatCpu } from '../lib/format.ts'
import { EngineBadge, engineName } from '../modules/engine-badge.tsx'
import { actsOf, useLifecycle } from '../modules/project-actions.ts'
import { Sparkline } from '../modules/sparkline.tsx'
import { type Labels, stackOf } from '../modules/stack.ts'
import { ProjectStatePill } from '../modules/state-pill.tsx'
import { useLabels } from '../modules/use-labels.ts'
import { useMay } from '../modules/use-may.ts'
import { useOnScreen, useStats } from '../modules/use-stats.ts'
import { texts } from '../texts/index.ts'
import { projectStates } from './project-states.ts'
import { useTitle } from './use-title.ts'

const t = texts.projects
type State = ProjectSummary['status']['state']

export function ProjectsPage() {
  useTitle(t.title)
  const may = useMay()
  const query = useQuery(projectsQuery)
  const labels = useLabels(null)
  const [text, setText] = useState('')
  const [state, setState] = useState<State | 'all'>('all')
  const [view, setView] = useStored<'cards' | 'table'>('stackquay.projects.view', ['cards', 'table'])
  const all = query.data ?? []
  const shown = all.filter(
    (project) => (state === 'all' || project.status.state === state) && fits(project, text, labels),
  )

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
        actions={
          may('admin') && (
            <Link to="/new" className={buttonClass('primary')}>
              <Plus aria-hidden className="size-4" />
              {t.new}
            </Link>
          )
        }
      />
      {all.length > 0 && (
        <div className="flex flex-wrap items-center gap-2">
          <label className="relative min-w-0 flex-1 basis-28 sm:max-w-80">
            <span className="sr-only">{t.filter}</span>
            <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-ink-3" />
            <input
              type="search"
              value={text}
              placeholder={t.filterPlaceholder}
              onChange={(event) => setText(event.target.value)}
              className="h-8 w-full rounded-md border border-line-strong/60 bg-surface pr-2 pl-8 focus-visible:outline-offset-0"
            />
          </label>
          <select
            aria-label={t.stateFilter}
            value={state}
            onChange={(event) => setState(event.target.value as State | 'all')}
            className="h-8 cursor-pointer rounded-md border border-line-strong/60 bg-surface px-2 max-sm:w-28"
          >
            <option value="all">{t.allStates}</option>
            {projectStates.map((option) => (
              <option key={option} value={option}>
                {texts.states.project[option]}
              </option>
            ))}
          </select>
          <span className="flex-1 max-sm:hidden" />
          <Segments
            label={t.view}
            value={view}
            onChange={setView}
            options={[
              {
                value: 'cards',
                label: <ViewLabel icon={<LayoutGrid aria-hidden className="size-3.5" />} text={t.cards} />,
              },
              { value: 'table', label: <ViewLabel icon={<Rows3 aria-hidden className="size-3.5" />} text={t.table} /> },
            ]}
          />
        </div>
      )}
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
          <Button
            onClick={() => {
              setText('')
              setState('all')
            }}
          >
            {t.clearFilter}
          </Button>
        </EmptyState>
      ) : view === 'cards' ? (
        <ul className="grid grid-cols-1 gap-3 md:grid-cols-2 2xl:grid-cols-3 min-[2200px]:grid-cols-4">
          {shown.map((project) => (
            <ProjectCard key={project.id} project={project} labels={labels} />
          ))}
        </ul>
      ) : (
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
            {shown.map((project) => (
              <ProjectRow key={project.id} project={project} labels={labels} />
            ))}
          </Table>
        </div>
      )}
    </div>
  )
}

function ViewLabel({ icon, text }: { icon: ReactNode; text: string }) {
  return (
    <>
      {icon}
      <span className="max-sm:sr-only">{text}</span>
    </>
  )
}

function fits(project: ProjectSummary, text: string, labels: Labels): boolean {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return true
  return [project.name, project.slug, project.url, engineName(project.engine), ...stackOf(project, labels)].some(
    (part) => part.toLowerCase().includes(wanted),
  )
}

function ProjectCard({ project, labels }: { project: ProjectSummary; labels: Labels }) {
  const element = useRef<HTMLLIElement>(null)
  const { history, up } = useCardStats(project, element)
  const last = history.points.at(-1)
  return (
    <li
      ref={element}
      className="group relative flex min-w-0 flex-col rounded-lg border border-line bg-surface transition-colors hover:border-line-strong/60"
    >
      <div className="flex items-start gap-3 px-4 pt-3.5">
        <div className="min-w-0 flex-1">
          <h2 className="truncate text-base font-semibold">
            <Link
              to="/projects/$project"
              params={{ project: project.slug }}
              className="rounded after:absolute after:inset-0 after:rounded-lg"
            >
              {project.name}
            </Link>
          </h2>
          <p className="mt-0.5 flex min-w-0 items-center gap-2">
            <EngineBadge engine={project.engine} />
            <span className="truncate text-sm text-ink-3">{stackOf(project, labels).join(' · ') || '–'}</span>
          </p>
        </div>
        <ProjectStatePill state={project.status.state} />
      </div>
      <div className="flex min-h-13 flex-1 items-end gap-4 px-4 pt-3">
        {up ? (
          <>
            <Usage
              name={t.columns.cpu}
              value={last ? formatCpu(last.cpu) : '–'}
              values={history.points.map((point) => point.cpu)}
            />
            <Usage
              name={t.columns.memory}
              value={last ? formatBytes(last.memoryBytes) : '–'}
              values={history.points.map((point) => point.memoryBytes)}
            />
          </>
        ) : (
          <CardNote project={project} />
        )}
      </div>
      <div className="relative mt-3 flex h-11 items-center gap-1 border-t border-line pr-2 pl-4">
        <span className="flex min-w-0 flex-1 items-center text-sm">
          {project.operation !== null ? (
            <OperationNote project={project} />
          ) : up ? (
            <ExternalLink href={project.url} className="h-6">
              {project.url.replace(/^https?:\/\//, '')}
            </ExternalLink>
          ) : (
            <span className="truncate text-ink-3">{project.url.replace(/^https?:\/\//, '')}</span>
          )}
        </span>
        <Warnings project={project} />
        <Acts project={project} />
      </div>
    </li>
  )
}

function CardNote({ project }: { project: ProjectSummary }) {
  const warning = project.status.warnings[0]
  if (warning === undefined) return <p className="truncate text-sm text-ink-3">{project.path}</p>
  return <p className="line-clamp-2 text-sm break-words text-ink-2">{warning.detail}</p>
}

function Usage({ name, value, values }: { name: string; value: string; values: readonly number[] }) {
  return (
    <div className="flex min-w-0 flex-1 items-end justify-between gap-2">
      <div className="min-w-0">
        <p className="text-xs text-ink-3">{name}</p>
        <p className="numbers font-medium whitespace-nowrap">{value}</p>
      </div>
      <Sparkline values={values} />
    </div>
  )
}

function ProjectRow({ project, labels }: { project: ProjectSummary; labels: Labels }) {
  const element = useRef<HTMLTableRowElement>(null)
  const { history, up } = useCardStats(project, element)
  const last = history.points.at(-1)
  return (
    <tr ref={element} className="hover:bg-hover/60">
      <Cell className="max-w-64 min-w-40">
        <Link
          to="/projects/$project"
          params={{ project: project.slug }}
          className="block truncate rounded font-medium hover:underline"
        >
          {project.name}
        </Link>
      </Cell>
      <Cell>
        <span className="flex items-center gap-2">
          <ProjectStatePill state={project.status.state} />
          <Warnings project={project} />
        </span>
      </Cell>
      <Cell className="max-w-72">
        {project.operation !== null ? (
          <OperationNote project={project} />
        ) : up ? (
          <ExternalLink href={project.url} className="max-w-full">
            {project.url.replace(/^https?:\/\//, '')}
          </ExternalLink>
        ) : (
          <span className="block truncate text-ink-3">{project.url.replace(/^https?:\/\//, '')}</span>
        )}
      </Cell>
      <Cell className="max-w-72 max-lg:hidden">
        <span className="flex items-center gap-2">
          <EngineBadge engine={project.engine} />
          <span className="truncate text-ink-2">{stackOf(project, labels).join(' · ') || '–'}</span>
        </span>
      </Cell>
      <Cell className="numbers whitespace-nowrap max-sm:hidden">
        <span className="flex items-center gap-3">
          <span className="w-12 text-right">{up && last ? formatCpu(last.cpu) : '–'}</span>
          {up && <Sparkline values={history.points.map((point) => point.cpu)} className="max-2xl:hidden" />}
        </span>
      </Cell>
      <Cell className="numbers whitespace-nowrap max-sm:hidden">
        <span className="flex items-center gap-3">
          <span className="w-16 text-right">{up && last ? formatBytes(last.memoryBytes) : '–'}</span>
          {up && <Sparkline values={history.points.map((point) => point.memoryBytes)} className="max-2xl:hidden" />}
        </span>
      </Cell>
      <Cell end className="py-1">
        <Acts project={project} />
      </Cell>
    </tr>
  )
}

function useCardStats(project: ProjectSummary, element: RefObject<Element | null>) {
  const up = project.status.state === 'running' || project.status.state === 'degraded'
  const seen = useOnScreen(element)
  return { up, history: useStats(project.id, up && seen) }
}

function OperationNote({ project }: { project: ProjectSummary }) {
  const { operation } = project
  if (operation === null) return null
  return (
    <Link
      to="/operations/$operation"
      params={{ operation: operation.id }}
      className="flex min-w-0 items-center gap-2 rounded text-sm text-busy hover:underline"
    >
      <span className="truncate">{t.operationBy(texts.operations.now[operation.kind], operation.actor)}</span>
      <span className="numbers shrink-0">{Math.round(operation.progress * 100)} %</span>
    </Link>
  )
}

function Warnings({ project }: { project: ProjectSummary }) {
  const { warnings } = project.status
  if (warnings.length === 0) return null
  return (
    <Tip text={warnings.map((warning) => warning.detail).join(' ')}>
      <button
        type="button"
        aria-label={`${t.warnings(warnings.length)}: ${warnings[0]?.detail}`}
        className="relative flex h-6 min-w-6 items-center justify-center gap-1 rounded px-1 text-warn"
      >
        <TriangleAlert aria-hidden className="size-3.5" />
        <span className="numbers text-xs">{warnings.length}</span>
      </button>
    </Tip>
  )
}

function Acts({ project }: { project: ProjectSummary }) {
  const { up, free, reason } = actsOf(project)
  const { busy, run } = useLifecycle(project.id)
  const may = useMay()
  const button = (act: 'start' | 'stop' | 'restart', icon: LucideIcon) => (
    <IconButton
      icon={icon}
      label={t.actOn(t[act], project.name)}
      tip={t[act]}
      busy={busy === act}
      disabled={!free}
      reason={reason}
      onClick={() => void run(act)}
    />
  )
  return (
    <span className="relative inline-flex justify-end gap-0.5">
      {up ? (
        <>
          {may('operate') && button('restart', RotateCw)}
          {may('operate') && button('stop', Square)}
          <Tip text={t.openUrl(project.name)}>
            <a
              href={project.url}
              target="_blank"
              rel="noreferrer"
              aria-label={`${t.openUrl(project.name)} ${texts.common.opensInNewTab}`}
              className={iconButtonClass()}
            >
              <OpenIcon aria-hidden className="size-4" />
            </a>
          </Tip>
        </>
      ) : (
        may('operate') && button('start', Play)
      )}
    </span>
  )
}
