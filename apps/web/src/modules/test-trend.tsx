import type { Run } from '@stackquay/contract'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { Disclosure } from '../components/disclosure.tsx'
import { Skeleton } from '../components/skeleton.tsx'
import { Cell, Table } from '../components/table.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { formatElapsed } from '../lib/format.ts'
import { trendOf } from '../lib/runs.ts'
import { texts } from '../texts/index.ts'

const TrendChart = lazy(async () => ({ default: (await import('./trend-chart.tsx')).TrendChart }))
const t = texts.tests

/** Time and failures of a suite over its last runs, as a picture and as numbers. */
export function TestTrend({ runs, suite, slug }: { runs: readonly Run[]; suite: string; slug: string }) {
  const trend = trendOf(runs, suite)
  if (trend.length < 2) return <p className="text-ink-2">{t.trendLater}</p>
  const elapsed = (seconds: number) => formatElapsed(seconds * 1000)
  const last = trend.at(-1)!
  return (
    <div className="flex flex-col gap-3">
      <Suspense fallback={<Skeleton className="h-32" />}>
        <div className="grid grid-cols-1 gap-x-8 gap-y-4 md:grid-cols-2">
          <TrendChart
            title={t.durations}
            description={t.durationsLabel(trend.length, last.seconds === null ? '–' : elapsed(last.seconds))}
            values={trend.map((point) => point.seconds)}
            format={elapsed}
            colour="--series-1"
          />
          <TrendChart
            title={t.failures}
            description={t.failuresLabel(trend.length, last.failed ?? 0)}
            values={trend.map((point) => point.failed)}
            format={String}
            colour="--bad"
            steps={[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]}
          />
        </div>
      </Suspense>
      <Disclosure title={t.asTable}>
        <div className="rounded-md border border-line">
          <Table
            label={t.trend}
            head={[{ title: t.trendColumns.run }, { title: t.durations, end: true }, { title: t.failures, end: true }]}
          >
            {trend.toReversed().map(({ run, seconds, failed }) => (
              <tr key={run.id}>
                <Cell>
                  <Link
                    to="/projects/$project/tests"
                    params={{ project: slug }}
                    search={{ run: run.id }}
                    className="rounded hover:underline"
                  >
                    <TimeAgo time={run.createdAt} />
                  </Link>
                </Cell>
                <Cell end className="numbers">
                  {seconds === null ? '–' : elapsed(seconds)}
                </Cell>
                <Cell end className="numbers">
                  {failed ?? '–'}
                </Cell>
              </tr>
            ))}
          </Table>
        </div>
      </Disclosure>
    </div>
  )
}
