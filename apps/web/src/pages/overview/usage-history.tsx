import type { Metrics } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { projectMetricsQuery } from '../../api/queries.ts'
import { Disclosure } from '../../components/disclosure.tsx'
import { ErrorState } from '../../components/error-state.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { Cell, Table } from '../../components/table.tsx'
import { formatBytes, formatCpu } from '../../lib/format.ts'
import {
  added,
  axisOf,
  figuresOf,
  filled,
  type MetricRange,
  perTime,
  sum,
  timesOf,
  type WorkloadFigures,
} from '../../lib/metrics.ts'
import { formatCount, formatShare } from '../../lib/traffic.ts'
import type { TimeSeries } from '../../modules/time-chart.tsx'
import { texts } from '../../texts/index.ts'
import { byteSteps } from './byte-steps.ts'

const t = texts.overview.history
const TimeChart = lazy(async () => ({ default: (await import('../../modules/time-chart.tsx')).TimeChart }))

/** What workloads used and how often the project was asked, over hours or a year. */
export function UsageHistory({ project, range }: { project: string; range: MetricRange }) {
  const query = useQuery(projectMetricsQuery(project, range))
  if (query.isPending) return <Skeleton className="h-48" />
  if (query.data === undefined) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  const metrics = query.data
  if (timesOf(metrics).length === 0) return <p className="text-ink-2">{t.nothing}</p>
  return (
    <div className="flex flex-col gap-5">
      <Suspense fallback={<Skeleton className="h-48" />}>
        <Charts metrics={metrics} range={range} />
      </Suspense>
      {metrics.items.length > 0 && (
        <Disclosure title={t.asTable}>
          <div className="rounded-md border border-line">
            <FiguresTable figures={metrics.items.map(figuresOf)} />
          </div>
        </Disclosure>
      )}
    </div>
  )
}

function Charts({ metrics, range }: { metrics: Metrics; range: MetricRange }) {
  const times = timesOf(metrics)
  const { items, requests, stepSeconds } = metrics
  const ofTime = { times, stepSeconds, axis: axisOf[range] }
  return (
    <div className="grid grid-cols-1 gap-x-8 gap-y-6 md:grid-cols-2">
      {pictures(stepSeconds).map(({ title, numbers, total, format, steps }) => {
        const series = items.flatMap((item, index): readonly TimeSeries[] => {
          const known = numbers(item)
          if (known === null) return []
          const values = filled(known, times.length)
          const colour = `--series-${(index % 6) + 1}`
          return [{ name: item.workload, colour, heights: values, values, total: total(figuresOf(item)) }]
        })
        if (series.length === 0) return null
        return (
          <TimeChart
            key={title}
            title={title}
            description={t.chartLabel(title, t.ranges[range], inWords(series))}
            shape="lines"
            series={series}
            format={format}
            {...(steps === undefined ? {} : { steps })}
            {...ofTime}
          />
        )
      })}
      {requests?.requests != null && <RequestsChart requests={requests} range={range} {...ofTime} />}
    </div>
  )
}

interface Picture {
  readonly title: string
  readonly numbers: (item: Metrics['items'][number]) => readonly (number | null)[] | null
  readonly total: (figures: WorkloadFigures) => string
  readonly format: (value: number) => string
  readonly steps?: number[]
}

function pictures(stepSeconds: number): readonly Picture[] {
  const aSecond = (value: number) => t.aSecond(formatBytes(value))
  return [
    {
      title: texts.overview.cpu,
      numbers: (item) => item.cpu,
      total: (one) => t.meanAndMost(formatCpu(one.cpu), formatCpu(one.cpuMax)),
      format: formatCpu,
    },
    {
      title: texts.overview.memory,
      numbers: (item) => item.memoryBytes,
      total: (one) => t.meanAndMost(bytesOf(one.memory), bytesOf(one.memoryMax)),
      format: formatBytes,
      steps: byteSteps,
    },
    {
      title: texts.overview.disk,
      numbers: (item) => perTime(added(item.readBytes, item.writtenBytes), stepSeconds, 1),
      total: (one) => t.readAndWritten(bytesOf(one.read), bytesOf(one.written)),
      format: aSecond,
    },
    {
      title: t.network,
      numbers: (item) => perTime(added(item.receivedBytes, item.sentBytes), stepSeconds, 1),
      total: (one) => t.receivedAndSent(bytesOf(one.received), bytesOf(one.sent)),
      format: aSecond,
    },
  ]
}

function inWords(series: readonly TimeSeries[]): string {
  return series.map(({ name, total }) => `${name}: ${total}`).join('; ')
}

function RequestsChart({
  requests,
  range,
  ...ofTime
}: {
  requests: NonNullable<Metrics['requests']>
  range: MetricRange
  times: readonly number[]
  stepSeconds: number
  axis: 'clock' | 'days' | 'months'
}) {
  const [all, errors] = [sum(requests.requests) ?? 0, sum(requests.errors) ?? 0]
  const line = (name: string, colour: string, values: readonly (number | null)[] | null, total: string) => {
    const heights = filled(perTime(values, ofTime.stepSeconds, 60), ofTime.times.length)
    return { name, colour, heights, values: heights, total }
  }
  const series = [
    line(t.requests, '--series-1', requests.requests, formatCount(all)),
    line(t.errors, '--bad', requests.errors, `${formatCount(errors)} (${formatShare(errors, all)})`),
  ]
  return (
    <TimeChart
      title={t.perMinute}
      description={t.chartLabel(t.requests, t.ranges[range], inWords(series))}
      shape="lines"
      series={series}
      format={(value) => formatCount(value)}
      {...ofTime}
    />
  )
}

function FiguresTable({ figures }: { figures: readonly WorkloadFigures[] }) {
  const columns = [
    [t.columns.cpu, (one: WorkloadFigures) => formatCpu(one.cpu)],
    [t.columns.cpuMax, (one: WorkloadFigures) => formatCpu(one.cpuMax)],
    [t.columns.memory, (one: WorkloadFigures) => bytesOf(one.memory)],
    [t.columns.memoryMax, (one: WorkloadFigures) => bytesOf(one.memoryMax)],
    [t.columns.read, (one: WorkloadFigures) => bytesOf(one.read)],
    [t.columns.written, (one: WorkloadFigures) => bytesOf(one.written)],
    [t.columns.received, (one: WorkloadFigures) => bytesOf(one.received)],
    [t.columns.sent, (one: WorkloadFigures) => bytesOf(one.sent)],
  ] as const
  return (
    <Table
      label={t.asTable}
      head={[{ title: t.columns.workload }, ...columns.map(([title]) => ({ title, end: true }))]}
    >
      {figures.map((one) => (
        <tr key={one.workload}>
          <Cell>{one.workload}</Cell>
          {columns.map(([title, text]) => (
            <Cell key={title} end className="numbers whitespace-nowrap">
              {text(one)}
            </Cell>
          ))}
        </tr>
      ))}
    </Table>
  )
}

function bytesOf(value: number | null): string {
  return value === null ? '–' : formatBytes(value)
}
