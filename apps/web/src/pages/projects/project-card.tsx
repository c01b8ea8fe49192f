import type { ProjectSummary } from '@stackquay/contract'
import { Link } from '@tanstack/react-router'
import { useRef } from 'react'
import { ExternalLink } from '../../components/external-link.tsx'
import { formatBytes, formatCpu } from '../../lib/format.ts'
import { EngineBadge } from '../../modules/engine-badge.tsx'
import { Sparkline } from '../../modules/sparkline.tsx'
import { type Labels, stackOf } from '../../modules/stack.ts'
import { ProjectStatePill } from '../../modules/state-pill.tsx'
import { texts } from '../../texts/index.ts'
import { Acts, OperationNote, useCardStats, Warnings } from './project-parts.tsx'

const t = texts.projects

export function ProjectCard({ project, labels }: { project: ProjectSummary; labels: Labels }) {
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
