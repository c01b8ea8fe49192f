import type { LogStats } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { logStatsQuery } from '../../api/log-stats.ts'
import { cx } from '../../components/class-names.ts'
import { Loaded } from '../../components/loaded.tsx'
import { plainText } from '../../lib/ansi.ts'
import { formatCount, formatDateTime } from '../../lib/format.ts'
import { type LogSearch, logQueryOf } from '../../lib/log-query.ts'
import { type CountedLevel, countedLevels, type LogStep, stepsOf, sumOf } from '../../lib/log-steps.ts'
import { texts } from '../../texts/index.ts'

const t = texts.logs.stats

interface StatsPanelProps {
  project: string
  search: LogSearch
  onChange: (next: LogSearch) => void
}

/** How many lines of each level there were, and which errors came most. A click shows only these. */
export function StatsPanel({ project, search, onChange }: StatsPanelProps) {
  const { workload, since, until } = search
  // A span is counted from when it was chosen.
  const range = useMemo(
    () =>
      logQueryOf(
        { ...(workload && { workload }), ...(since && { since }), ...(until && { until }) },
        Math.floor(Date.now() / 60_000) * 60_000,
      ),
    [workload, since, until],
  )
  const query = useQuery(logStatsQuery(project, range))
  return (
    <section
      aria-label={t.title}
      className="scroll-thin max-h-[45%] shrink-0 overflow-y-auto border-b border-line bg-surface px-4 py-3 sm:px-6"
    >
      <Loaded query={query} rows={3}>
        {(stats) => <Stats stats={stats} search={search} onChange={onChange} />}
      </Loaded>
    </section>
  )
}

function Stats({ stats, search, onChange }: { stats: LogStats } & Omit<StatsPanelProps, 'project'>) {
  const steps = stepsOf(stats)
  return (
    <div className="flex flex-col gap-3">
      <p className="flex flex-wrap items-center gap-x-4 gap-y-1 text-sm text-ink-2">
        {countedLevels.map((level) => (
          <span key={level} className="inline-flex items-center gap-1.5">
            <span aria-hidden className={cx('size-2.5 rounded-xs', fills[level])} />
            {t.levels[level]}
            <span className="numbers text-ink">{formatCount(sumOf(stats.levels[level]))}</span>
          </span>
        ))}
      </p>
      <Bars steps={steps} onStep={({ since, until }) => onChange({ ...search, since, until })} />
      {stats.partial && <p className="text-sm text-warn">{t.partial(formatDateTime(stats.countedFrom))}</p>}
      <TopErrors
        errors={stats.topErrors}
        onError={({ search: q, workload }) => {
          const { regex: _regex, q: _before, ...rest } = search
          onChange({ ...rest, workload, level: 'error', ...(q === '' ? {} : { q }) })
        }}
      />
    </div>
  )
}

const fills: Readonly<Record<CountedLevel, string>> = {
  error: 'bg-bad',
  warning: 'bg-warn',
  info: 'bg-accent',
  debug: 'bg-ink-3',
  none: 'bg-line-strong',
}

function Bars({ steps, onStep }: { steps: readonly LogStep[]; onStep: (step: LogStep) => void }) {
  const most = Math.max(1, ...steps.map(({ total }) => total))
  return (
    <ul aria-label={t.overTime} className="flex h-20 items-stretch gap-px">
      {steps.map((step) => (
        <li key={step.since} className="flex min-w-0 flex-1">
          <button
            type="button"
            disabled={step.total === 0}
            title={t.step(formatDateTime(step.since), step.total, step.counts.error)}
            aria-label={t.step(formatDateTime(step.since), step.total, step.counts.error)}
            onClick={() => onStep(step)}
            className="flex w-full cursor-pointer flex-col-reverse rounded-xs bg-sunken hover:bg-hover disabled:cursor-default"
          >
            {countedLevels.map((level) => (
              <span
                key={level}
                className={cx('block w-full', fills[level])}
                style={{ height: `${(step.counts[level] / most) * 100}%` }}
              />
            ))}
          </button>
        </li>
      ))}
    </ul>
  )
}

type TopError = LogStats['topErrors'][number]

function TopErrors({ errors, onError }: { errors: readonly TopError[]; onError: (error: TopError) => void }) {
  if (errors.length === 0) return <p className="text-sm text-ink-3">{t.noErrors}</p>
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <h3 className="text-sm font-medium">{t.topErrors}</h3>
      <ul className="flex flex-col">
        {errors.map((error) => (
          <li key={error.pattern} className="min-w-0">
            <button
              type="button"
              title={plainText(error.text)}
              onClick={() => onError(error)}
              className="flex w-full min-w-0 items-baseline gap-3 rounded-md px-1.5 py-0.5 text-left text-sm hover:bg-hover"
            >
              <span className="numbers w-12 shrink-0 text-right font-medium">{formatCount(error.count)}</span>
              <span className="min-w-0 flex-1 truncate font-mono">{plainText(error.pattern)}</span>
              <span className="shrink-0 text-ink-3 max-sm:hidden">{error.workload}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
