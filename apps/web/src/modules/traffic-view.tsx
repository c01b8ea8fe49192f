import type { Traffic } from '@stackquay/contract'
import { lazy, type ReactNode, Suspense } from 'react'
import { Disclosure } from '../components/disclosure.tsx'
import { Skeleton } from '../components/skeleton.tsx'
import { Cell, Table } from '../components/table.tsx'
import { formatBytes } from '../lib/format.ts'
import type { TrafficRange } from '../lib/network-search.ts'
import {
  formatCount,
  formatLatency,
  formatMoment,
  formatShare,
  type Percentile,
  percentiles,
  type StatusClass,
  stacked,
  statusClasses,
} from '../lib/traffic.ts'
import { texts } from '../texts/index.ts'
import type { TimeSeries } from './time-chart.tsx'

const TimeChart = lazy(async () => ({ default: (await import('./time-chart.tsx')).TimeChart }))
const t = texts.network.traffic

/** Colour where it means something: red is the application's failure, amber the visitor's. */
const classColours: Readonly<Record<StatusClass, string>> = {
  status2xx: '--good',
  status3xx: '--busy',
  status4xx: '--warn',
  status5xx: '--bad',
}
const percentileColours: Readonly<Record<Percentile, string>> = {
  p50: '--series-1',
  p95: '--series-2',
  p99: '--series-5',
}
const wholeSteps = [1, 2, 5].flatMap((digit) => Array.from({ length: 8 }, (_, power) => digit * 10 ** power))

/** Numbers, two pictures of them, and a table that says the same. */
export function TrafficView({ traffic, range }: { traffic: Traffic; range: TrafficRange }) {
  const { items, total, stepSeconds } = traffic
  const times = items.map(({ time }) => Date.parse(time) / 1000)
  const axis = range === '7d' ? 'days' : 'clock'
  const answers: readonly TimeSeries[] = stacked(items).map(({ name, tops }) => ({
    name: t.classes[name],
    colour: classColours[name],
    heights: tops,
    values: items.map((point) => point[name]),
    total: formatCount(total[name]),
  }))
  const latencies: readonly TimeSeries[] = percentiles.map((name) => ({
    name: t.percentiles[name],
    colour: percentileColours[name],
    heights: items.map((point) => point[name]),
    values: items.map((point) => point[name]),
    total: formatLatency(total[name]),
  }))
  return (
    <div className="flex flex-col gap-5">
      <dl className="grid grid-cols-2 gap-x-6 gap-y-3 sm:grid-cols-4">
        <Figure name={t.requests}>{formatCount(total.requests)}</Figure>
        <Figure name={t.failures}>{formatShare(total.status5xx, total.requests)}</Figure>
        <Figure name={t.median}>{formatLatency(total.p50)}</Figure>
        <Figure name={t.sent}>{formatBytes(total.bytes)}</Figure>
      </dl>
      <Suspense fallback={<Skeleton className="h-48" />}>
        <div className="grid grid-cols-1 gap-x-8 gap-y-5 lg:grid-cols-2">
          <TimeChart
            title={t.answers}
            description={t.answersLabel(
              t.ranges[range],
              formatCount(total.requests),
              statusClasses.map((name) => `${t.classes[name]}: ${formatCount(total[name])}`).join(', '),
            )}
            shape="bars"
            times={times}
            stepSeconds={stepSeconds}
            series={answers}
            format={formatCount}
            steps={wholeSteps.toSorted((one, other) => one - other)}
            axis={axis}
          />
          <TimeChart
            title={t.latency}
            description={t.latencyLabel(
              t.ranges[range],
              percentiles.map((name) => `${t.percentiles[name]}: ${formatLatency(total[name])}`).join(', '),
            )}
            shape="lines"
            times={times}
            stepSeconds={stepSeconds}
            series={latencies}
            format={formatLatency}
            axis={axis}
          />
        </div>
      </Suspense>
      <Disclosure title={t.asTable}>
        <div className="rounded-md border border-line">
          <PointTable traffic={traffic} />
        </div>
      </Disclosure>
    </div>
  )
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-sm text-ink-2">{name}</dt>
      <dd className="numbers text-lg font-medium">{children}</dd>
    </div>
  )
}

/** The newest first; times without requests are left out. */
function PointTable({ traffic: { items } }: { traffic: Traffic }) {
  const points = items.filter(({ requests }) => requests > 0).toReversed()
  return (
    <Table
      label={t.title}
      head={[
        { title: t.time },
        { title: t.requests, end: true },
        ...statusClasses.map((name) => ({ title: t.classes[name], end: true })),
        ...percentiles.map((name) => ({ title: t.percentiles[name], end: true })),
        { title: t.sent, end: true },
      ]}
    >
      {points.map((point) => (
        <tr key={point.time}>
          <Cell className="numbers whitespace-nowrap">
            <time dateTime={point.time}>{formatMoment(point.time)}</time>
          </Cell>
          <Cell end className="numbers">
            {formatCount(point.requests)}
          </Cell>
          {statusClasses.map((name) => (
            <Cell key={name} end className="numbers">
              {formatCount(point[name])}
            </Cell>
          ))}
          {percentiles.map((name) => (
            <Cell key={name} end className="numbers whitespace-nowrap">
              {formatLatency(point[name])}
            </Cell>
          ))}
          <Cell end className="numbers whitespace-nowrap">
            {formatBytes(point.bytes)}
          </Cell>
        </tr>
      ))}
    </Table>
  )
}
