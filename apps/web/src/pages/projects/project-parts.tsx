import type { ProjectSummary } from '@stackquay/contract'
import { Link } from '@tanstack/react-router'
import { type LucideIcon, ExternalLink as OpenIcon, Play, RotateCw, Square, TriangleAlert } from 'lucide-react'
import type { RefObject } from 'react'
import { IconButton, iconButtonClass } from '../../components/button.tsx'
import { Tip } from '../../components/tip.tsx'
import { actsOf, useLifecycle } from '../../modules/project-actions.ts'
import { useMay } from '../../modules/use-may.ts'
import { useOnScreen, useStats } from '../../modules/use-stats.ts'
import { texts } from '../../texts/index.ts'

const t = texts.projects

export function useCardStats(project: ProjectSummary, element: RefObject<Element | null>) {
  const up = project.status.state === 'running' || project.status.state === 'degraded'
  const seen = useOnScreen(element)
  return { up, history: useStats(project.id, up && seen) }
}

export function OperationNote({ project }: { project: ProjectSummary }) {
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

export function Warnings({ project }: { project: ProjectSummary }) {
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

export function Acts({ project }: { project: ProjectSummary }) {
  const { up, asleep, free, reason } = actsOf(project)
  const { busy, run } = useLifecycle(project.id)
  const may = useMay(project.id)
  const button = (act: 'start' | 'stop' | 'restart', icon: LucideIcon, tip = t[act]) => (
    <IconButton
      icon={icon}
      label={t.actOn(tip, project.name)}
      tip={tip}
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
        </>
      ) : (
        may('operate') && button('start', Play, asleep ? t.wake : t.start)
      )}
      {(up || asleep) && (
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
      )}
    </span>
  )
}
