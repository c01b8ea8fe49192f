import { useNavigate, useSearch } from '@tanstack/react-router'
import { ChartColumn, Clock, Eraser, Pause, Play, WrapText } from 'lucide-react'
import { useMemo, useState } from 'react'
import { problemFrom } from '../api/client.ts'
import { Button, IconButton } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { ErrorState } from '../components/error-state.tsx'
import { Fill } from '../components/fill.tsx'
import { IconToggle, Toggle } from '../components/toggle.tsx'
import { useStoredFlag } from '../components/use-stored.ts'
import { errorsAt } from '../lib/field-errors.ts'
import { marksOf } from '../lib/log-marks.ts'
import { isFiltered, type LogSearch } from '../lib/log-query.ts'
import { LogViewer } from '../modules/log-viewer.tsx'
import { coloursOf } from '../modules/workload-colours.ts'
import { texts } from '../texts/index.ts'
import { DownloadMenu } from './logs/download-menu.tsx'
import { Filters } from './logs/filters.tsx'
import { StatsPanel } from './logs/stats-panel.tsx'
import { useLog } from './logs/use-log.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.logs

export function LogsPage() {
  const project = useProject()
  const search = useSearch({ from: '/app/projects/$project/logs' })
  useTitle(project.name, texts.project.tabs.logs)
  // Another stream is another view: nothing of the one before may stay in it.
  return (
    <Logs
      key={`${project.id} ${search.workload ?? ''}`}
      project={project.id}
      slug={project.slug}
      search={search}
      names={project.status.workloads.map((item) => item.name)}
    />
  )
}

interface LogsProps {
  project: string
  slug: string
  search: LogSearch
  names: readonly string[]
}

function Logs({ project, slug, search, names }: LogsProps) {
  const navigate = useNavigate()
  const { workload } = search
  const [errorsOnly, setErrorsOnly] = useState(false)
  const [following, setFollowing] = useState(true)
  const [wrap, setWrap] = useStoredFlag('stackquay.logs.wrap', false)
  const [chosen, setChosen] = useState(0)
  const [stats, setStats] = useStoredFlag('stackquay.logs.stats', false)
  const [times, setTimes] = useStoredFlag('stackquay.logs.times', true)
  const log = useLog(project, search, errorsOnly, following)
  const [pausedAt, setPausedAt] = useState(0)
  const badSearch = log.error === null ? null : errorsAt(problemFrom(log.error).errors, '/q')
  const change = (next: LogSearch) =>
    void navigate({ to: '/projects/$project/logs', params: { project: slug }, search: next, replace: true })
  /** From the statistics: the fields show it, too. */
  const choose = (next: LogSearch) => {
    change(next)
    setChosen(chosen + 1)
  }
  const follow = (next: boolean) => {
    setPausedAt(log.buffer.lines.length + log.buffer.dropped)
    setFollowing(next)
  }
  const seen = names.length > 0 ? names : [...new Set(log.buffer.lines.slice(-500).map((line) => line.workload))]
  const nameKey = seen.join(' ')
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the names
  const colours = useMemo(() => coloursOf(workload === undefined ? seen : [workload]), [nameKey, workload])
  const marks = useMemo(() => marksOf(search.q ?? '', search.regex ?? false), [search.q, search.regex])
  const fresh = log.buffer.lines.length + log.buffer.dropped - pausedAt

  return (
    <Fill label={texts.project.tabs.logs}>
      <h2 className="sr-only">{texts.project.tabs.logs}</h2>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1.5 border-b border-line bg-surface px-4 py-2 sm:px-6">
        <Filters key={chosen} search={search} names={names} onChange={change} invalid={Boolean(badSearch)} />
        <Toggle label={t.errorsOnly} title={t.errorsOnlyHelp} on={errorsOnly} onChange={setErrorsOnly} />
        <span className="numbers ml-auto text-sm text-ink-3 max-2xl:hidden">
          {t.lines(log.buffer.shown.length.toLocaleString(), log.buffer.lines.length.toLocaleString())}
        </span>
        <span className="flex items-center gap-0.5 max-2xl:ml-auto">
          <IconToggle icon={ChartColumn} label={t.stats.toggle} on={stats} onChange={setStats} />
          <FollowButton following={following} onChange={follow} fresh={fresh} />
          <IconToggle icon={Clock} label={t.times} on={times} onChange={setTimes} />
          <IconToggle icon={WrapText} label={t.wrap} on={wrap} onChange={setWrap} />
          <IconButton icon={Eraser} label={t.clear} size="sm" onClick={log.clear} />
          <DownloadMenu project={project} search={search} />
        </span>
      </div>
      {stats && <StatsPanel project={project} search={search} onChange={choose} />}
      {log.buffer.dropped > 0 && log.older.state === 'none' && (
        <p className="border-b border-line bg-sunken px-6 py-1 text-sm text-ink-2">
          {t.dropped(log.buffer.dropped.toLocaleString())}
        </p>
      )}
      <div className="flex min-h-0 flex-1 flex-col bg-log">
        {badSearch ? (
          <p role="alert" className="px-4 py-3 text-bad sm:px-6">
            {t.badSearch(badSearch)}
          </p>
        ) : log.error !== null && log.buffer.lines.length === 0 ? (
          <ErrorState error={log.error} onRetry={log.retry} />
        ) : (
          <LogViewer
            lines={log.buffer.shown}
            following={following}
            onFollowing={follow}
            marks={marks}
            wrap={wrap}
            times={times}
            colours={colours}
            loading={log.state === 'connecting'}
            older={log.older}
            filtered={isFiltered(search) || errorsOnly}
          />
        )}
      </div>
      <Connection retrying={log.state === 'retrying'} />
    </Fill>
  )
}

function Connection({ retrying }: { retrying: boolean }) {
  return (
    <p role="status" className={cx('text-sm text-warn', retrying && 'border-t border-line bg-surface px-6 py-1')}>
      {retrying ? t.retrying : ''}
    </p>
  )
}

interface FollowButtonProps {
  following: boolean
  onChange: (following: boolean) => void
  /** Lines that came since it stopped. */
  fresh: number
}

function FollowButton({ following, onChange, fresh }: FollowButtonProps) {
  return (
    <Button size="sm" icon={following ? Pause : Play} onClick={() => onChange(!following)}>
      <span className="numbers">
        {following ? t.pause : `${t.follow}${fresh > 0 ? ` (${fresh.toLocaleString()})` : ''}`}
      </span>
    </Button>
  )
}
