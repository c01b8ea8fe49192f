import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { projectStatsQuery } from '../../api/queries.ts'
import { Segments } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { useStored } from '../../components/use-stored.ts'
import { formatBytes, formatCpu } from '../../lib/format.ts'
import { metricRanges } from '../../lib/metrics.ts'
import { engineReason } from '../../modules/project-actions.ts'
import { useStats } from '../../modules/use-stats.ts'
import { texts } from '../../texts/index.ts'
import { byteSteps } from './byte-steps.ts'
import { UsageHistory } from './usage-history.tsx'

const t = texts.overview

const StatsChart = lazy(async () => ({ default: (await import('../../modules/stats-chart.tsx')).StatsChart }))

const views = ['live', ...metricRanges] as const

export function Usage({ project }: { project: ProjectView }) {
  const answers = engineReason(project) === null
  const running =
    answers && project.status.workloads.some((workload) => workload.pid !== null || workload.state === 'running')
  const [view, setView] = useStored('usage-view', views)
  const history = useStats(project.id, running && view === 'live')
  const disk = useQuery({ ...projectStatsQuery(project.id), enabled: answers }).data?.disk
  return (
    <Panel
      title={t.stats}
      actions={
        <>
          {disk && (
            <span className="numbers text-sm text-ink-2">
              {t.disk}: {disk.sourceBytes !== null && `${t.diskSource} ${formatBytes(disk.sourceBytes)} · `}
              {t.diskData} {formatBytes(disk.dataBytes)}
            </span>
          )}
          <Segments
            label={t.history.range}
            value={view}
            onChange={setView}
            options={views.map((value) => ({ value, label: t.history.views[value] }))}
          />
        </>
      }
    >
      {view !== 'live' ? (
        <UsageHistory project={project.id} range={view} />
      ) : !running ? (
        <p className="text-ink-2">{answers ? t.notRunning : t.notKnown}</p>
      ) : history.points.length === 0 ? (
        <p role="status" className="text-ink-2">
          {t.waitingForStats}
        </p>
      ) : (
        <Suspense fallback={<Skeleton className="h-48" />}>
          <div className="grid grid-cols-1 gap-x-8 gap-y-6 md:grid-cols-2">
            <StatsChart
              title={t.cpu}
              points={history.points}
              numberOf={(workload) => workload.cpu}
              format={formatCpu}
            />
            <StatsChart
              title={t.memory}
              points={history.points}
              numberOf={(workload) => workload.memoryBytes}
              format={formatBytes}
              steps={byteSteps}
            />
          </div>
        </Suspense>
      )}
    </Panel>
  )
}
