import type { ProjectSummary } from '@stackquay/contract'
import { Link } from '@tanstack/react-router'
import { useRef } from 'react'
import { ExternalLink } from '../../components/external-link.tsx'
import { ActionsCell, Cell } from '../../components/table.tsx'
import { formatBytes, formatCpu } from '../../lib/format.ts'
import { EngineBadge } from '../../modules/engine-badge.tsx'
import { Sparkline } from '../../modules/sparkline.tsx'
import { type Labels, stackOf } from '../../modules/stack.ts'
import { ProjectStatePill } from '../../modules/state-pill.tsx'
import { Acts, OperationNote, useCardStats, Warnings } from './project-parts.tsx'

export function ProjectRow({ project, labels }: { project: ProjectSummary; labels: Labels }) {
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
      <ActionsCell>
        <Acts project={project} />
      </ActionsCell>
    </tr>
  )
}
