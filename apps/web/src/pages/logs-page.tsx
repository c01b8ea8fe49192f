import type { LogLine } from '@stackquay/contract'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Clock, Download, Eraser, Pause, Play, Regex, Search, WrapText } from 'lucide-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { client, problemFrom } from '../api/client.ts'
import { saveFile } from '../api/download.ts'
import { logFilePath } from '../api/runs.ts'
import { Button, IconButton } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { ErrorState } from '../components/error-state.tsx'
import { Fill } from '../components/fill.tsx'
import { Menu, MenuItem } from '../components/menu.tsx'
import { toastProblem } from '../components/toast.tsx'
import { IconToggle, Toggle } from '../components/toggle.tsx'
import { useDebounced } from '../components/use-debounced.ts'
import { useStored } from '../components/use-stored.ts'
import { errorsAt } from '../lib/field-errors.ts'
import { LogBuffer } from '../lib/log-buffer.ts'
import { marksOf } from '../lib/log-marks.ts'
import {
  isFiltered,
  isSpan,
  type LogQuery,
  type LogSearch,
  levels,
  localTime,
  logQueryOf,
  spans,
  timeOf,
} from '../lib/log-query.ts'
import { completeFrom, notHeld } from '../lib/older-lines.ts'
import { LogViewer } from '../modules/log-viewer.tsx'
import { coloursOf } from '../modules/workload-colours.ts'
import { texts } from '../texts/index.ts'
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
  const [wrap, setWrap] = useStored<'no' | 'yes'>('stackquay.logs.wrap', ['no', 'yes'])
  const [times, setTimes] = useStored<'yes' | 'no'>('stackquay.logs.times', ['yes', 'no'])
  const log = useLog(project, search, errorsOnly, following)
  const [pausedAt, setPausedAt] = useState(0)
  const badSearch = log.error === null ? null : errorsAt(problemFrom(log.error).errors, '/q')
  const change = (next: LogSearch) =>
    void navigate({ to: '/projects/$project/logs', params: { project: slug }, search: next, replace: true })
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
        <Filters search={search} names={names} onChange={change} invalid={Boolean(badSearch)} />
        <Toggle label={t.errorsOnly} title={t.errorsOnlyHelp} on={errorsOnly} onChange={setErrorsOnly} />
        <span className="numbers ml-auto text-sm text-ink-3 max-2xl:hidden">
          {t.lines(log.buffer.shown.length.toLocaleString(), log.buffer.lines.length.toLocaleString())}
        </span>
        <span className="flex items-center gap-0.5 max-2xl:ml-auto">
          <Button size="sm" icon={following ? Pause : Play} onClick={() => follow(!following)}>
            <span className="numbers">
              {following ? t.pause : `${t.follow}${fresh > 0 ? ` (${fresh.toLocaleString()})` : ''}`}
            </span>
          </Button>
          <IconToggle
            icon={Clock}
            label={t.times}
            on={times === 'yes'}
            onChange={(on) => setTimes(on ? 'yes' : 'no')}
          />
          <IconToggle
            icon={WrapText}
            label={t.wrap}
            on={wrap === 'yes'}
            onChange={(on) => setWrap(on ? 'yes' : 'no')}
          />
          <IconButton icon={Eraser} label={t.clear} size="sm" onClick={log.clear} />
          <DownloadMenu project={project} search={search} />
        </span>
      </div>
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
            wrap={wrap === 'yes'}
            times={times === 'yes'}
            colours={colours}
            loading={log.state === 'connecting'}
            older={log.older}
            filtered={isFiltered(search) || errorsOnly}
          />
        )}
      </div>
      <p
        role="status"
        className={cx('text-sm text-warn', log.state === 'retrying' && 'border-t border-line bg-surface px-6 py-1')}
      >
        {log.state === 'retrying' ? t.retrying : ''}
      </p>
    </Fill>
  )
}

const selectClass = 'h-8 max-w-32 min-w-0 cursor-pointer rounded-md border border-line-strong/60 bg-surface px-2'

/** What the service is asked for; it stands in the address. */
function Filters({
  search,
  names,
  onChange,
  invalid,
}: {
  search: LogSearch
  names: readonly string[]
  onChange: (next: LogSearch) => void
  invalid: boolean
}) {
  const { workload, level, since, until } = search
  const [text, setText] = useState(search.q ?? '')
  const settled = useDebounced(text, 300)
  const apply = useRef(onChange)
  apply.current = (next) => onChange(withoutEmpty(next))
  const now = useRef(search)
  now.current = search
  useEffect(() => {
    if (settled !== (now.current.q ?? '')) apply.current({ ...now.current, q: settled })
  }, [settled])
  const [custom, setCustom] = useState(until !== undefined || (since !== undefined && !isSpan(since)))
  const set = (part: { readonly [Name in keyof LogSearch]?: LogSearch[Name] | undefined }) =>
    apply.current({ ...search, ...part } as LogSearch)
  return (
    <>
      <select
        aria-label={t.workload}
        value={workload ?? ''}
        onChange={(event) => set({ workload: event.target.value })}
        className={selectClass}
      >
        <option value="">{t.allWorkloads}</option>
        {[...new Set([...names, ...(workload === undefined ? [] : [workload])])].map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <div className="relative min-w-0 flex-1 basis-40 sm:max-w-72">
        <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-ink-3" />
        <input
          type="search"
          aria-label={t.search}
          value={text}
          maxLength={200}
          placeholder={search.regex ? t.regexPlaceholder : t.searchPlaceholder}
          aria-invalid={invalid && search.q !== undefined ? true : undefined}
          spellCheck={false}
          onChange={(event) => setText(event.target.value)}
          className={cx(
            'h-8 w-full rounded-md border bg-surface pr-9 pl-8 focus-visible:outline-offset-0',
            search.regex && 'font-mono text-sm',
            invalid && search.q !== undefined ? 'border-bad' : 'border-line-strong/60',
          )}
        />
        <span className="absolute top-0.5 right-0.5">
          <IconToggle
            icon={Regex}
            label={t.regex}
            on={search.regex ?? false}
            onChange={(on) => set({ regex: on ? true : undefined })}
          />
        </span>
      </div>
      <select
        aria-label={t.level}
        value={level ?? ''}
        onChange={(event) => set({ level: event.target.value as NonNullable<typeof level> })}
        className={selectClass}
      >
        <option value="">{t.allLevels}</option>
        {levels.map((name) => (
          <option key={name} value={name}>
            {t.levels[name]}
          </option>
        ))}
      </select>
      <select
        aria-label={t.time}
        value={custom ? 'custom' : (since ?? '')}
        onChange={(event) => {
          const { value } = event.target
          setCustom(value === 'custom')
          if (value !== 'custom') set({ since: value, until: undefined })
        }}
        className={selectClass}
      >
        <option value="">{t.anyTime}</option>
        {Object.keys(spans).map((span) => (
          <option key={span} value={span}>
            {t.spans[span as keyof typeof spans]}
          </option>
        ))}
        <option value="custom">{t.customTime}</option>
      </select>
      {custom && (
        <span className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1.5">
          <TimeField
            label={t.since}
            value={isSpan(since) ? undefined : since}
            onChange={(time) => set({ since: time })}
          />
          <TimeField label={t.until} value={until} onChange={(time) => set({ until: time })} />
        </span>
      )}
    </>
  )
}

function TimeField({
  label,
  value,
  onChange,
}: {
  label: string
  value: string | undefined
  onChange: (time: string | undefined) => void
}) {
  return (
    <label className="flex items-center gap-1.5 text-sm text-ink-2">
      {label}
      <input
        type="datetime-local"
        value={localTime(value)}
        onChange={(event) => onChange(timeOf(event.target.value))}
        className="h-8 min-w-0 rounded-md border border-line-strong/60 bg-surface px-2 text-ink focus-visible:outline-offset-0"
      />
    </label>
  )
}

function withoutEmpty(search: LogSearch): LogSearch {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined && value !== ''))
}

type LogState = 'connecting' | 'live' | 'retrying' | 'ended'

/** As many lines as the service gives at once. */
const page = 5000

/**
 * The stream in a buffer. Lines come faster than a screen can be drawn: they are appended as they come and drawn once
 * a frame; in a tab that nobody sees they are appended all the same.
 */
function useLog(project: string, search: LogSearch, errorsOnly: boolean, following: boolean) {
  const buffer = useRef(new LogBuffer()).current
  const [, draw] = useState(0)
  const [state, setState] = useState<LogState>('connecting')
  const [error, setError] = useState<unknown>(null)
  const [attempt, setAttempt] = useState(0)
  /** From when on the view has all lines: null when from the first, undefined while only the stream has brought some. */
  const [complete, setComplete] = useState<string | null>()
  const [reading, setReading] = useState(false)
  const wanted = JSON.stringify(search)
  // A span is counted from when it was chosen: the reader’s “last hour” does not move while they read.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text stands for the search; a new attempt is a new stream
  const query = useMemo(() => logQueryOf(search, Date.now()), [wanted, attempt])

  useEffect(() => {
    const stop = new AbortController()
    const { signal } = stop
    let frame: number | null = null
    const drawSoon = () => {
      frame ??= requestAnimationFrame(() => {
        frame = null
        draw((count) => count + 1)
      })
    }
    // What the last search found stays until this one has found something, or nothing.
    let stale = true
    const fresh = () => {
      if (stale) buffer.clear()
      stale = false
    }
    const settled = () => {
      fresh()
      setState('live')
      drawSoon()
    }
    // Enough time for the first lines of an empty log not to show as "no lines".
    let settle: ReturnType<typeof setTimeout> | undefined
    const onLines = (lines: readonly LogLine[]) => {
      fresh()
      buffer.append(lines)
      setState('live')
      drawSoon()
    }
    const run = async () => {
      // What ended before now does not go on: it is read once.
      if (query.until !== undefined && Date.parse(query.until) <= Date.now()) {
        onLines(await readUntil(project, query, query.until, signal))
        return
      }
      // A stream tries again when an expression takes too long; a request over as many lines says so.
      if (query.regex)
        await client.call('getProjectLogs', { params: { id: project }, query: { ...query, limit: page } }, { signal })
      await client.followLogs(
        project,
        { ...query, tail: page },
        {
          signal,
          onLines,
          onState: (next) => {
            if (next === 'live') settle = setTimeout(settled, 250)
            else if (next !== 'ended') setState(next)
          },
        },
      )
    }
    setError(null)
    setComplete(undefined)
    run().catch((failure: unknown) => {
      if (signal.aborted) return
      fresh()
      setState('ended')
      setError(failure)
    })
    return () => {
      stop.abort()
      clearTimeout(settle)
      if (frame !== null) cancelAnimationFrame(frame)
    }
  }, [project, query, buffer])

  useEffect(() => {
    buffer.setFilter({ errorsOnly })
    draw((count) => count + 1)
  }, [buffer, errorsOnly])

  // Looked for only when somebody has stopped to read: it goes through all lines.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the buffer is one object however many lines it holds
  const began = useMemo(() => {
    if (following) return null
    return complete === undefined ? completeFrom(buffer.lines, page) : complete
  }, [following, complete, buffer.dropped])
  const readOlder = async () => {
    if (began === null) return
    setReading(true)
    const { dropped } = buffer
    const first = buffer.lines[0]
    try {
      const items = await readUntil(project, query, began)
      // Meanwhile the view may have been cleared, or its oldest lines given up.
      if (buffer.dropped !== dropped || buffer.lines[0] !== first) return
      const older = notHeld(items, buffer.lines)
      buffer.merge(older)
      setComplete(items.length < page || older.length === 0 ? null : items[0]!.time)
    } catch (failure) {
      toastProblem(failure)
    } finally {
      setReading(false)
    }
  }

  return {
    buffer,
    state,
    error,
    older: {
      state: began === null || buffer.full ? 'none' : reading ? 'reading' : 'offered',
      read: readOlder,
    } as const,
    retry: () => setAttempt((count) => count + 1),
    clear: () => {
      buffer.clear()
      draw((count) => count + 1)
    },
  }
}

/** The newest page of lines up to a time. */
async function readUntil(
  project: string,
  query: LogQuery,
  until: string,
  signal?: AbortSignal,
): Promise<readonly LogLine[]> {
  const input = { params: { id: project }, query: { ...query, until, limit: page } }
  return (await client.call('getProjectLogs', input, signal === undefined ? {} : { signal })).items
}

/** Everything the service keeps that fits the filters; the browser saves it as it comes. */
function DownloadMenu({ project, search }: { project: string; search: LogSearch }) {
  return (
    <Menu trigger={<IconButton icon={Download} label={t.download} size="sm" />}>
      {(['text', 'jsonl'] as const).map((format) => (
        <MenuItem
          key={format}
          onSelect={() =>
            void saveFile(logFilePath(project, logQueryOf(search, Date.now()), format)).catch(toastProblem)
          }
        >
          {t.downloadAs[format]}
        </MenuItem>
      ))}
    </Menu>
  )
}
