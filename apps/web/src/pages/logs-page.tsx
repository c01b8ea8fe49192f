import type { LogLine } from '@stackquay/contract'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Clock, Download, Eraser, Pause, Play, Search, WrapText } from 'lucide-react'
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { client } from '../api/client.ts'
import { Button, IconButton } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { ErrorState } from '../components/error-state.tsx'
import { toastProblem } from '../components/toast.tsx'
import { useDebounced } from '../components/use-debounced.ts'
import { asText, LogBuffer } from '../lib/log-buffer.ts'
import { completeFrom, notHeld } from '../lib/older-lines.ts'
import { LogViewer } from '../modules/log-viewer.tsx'
import { coloursOf } from '../modules/workload-colours.ts'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'
import { useStored } from './use-stored.ts'
import { useTitle } from './use-title.ts'

const t = texts.logs

export function LogsPage() {
  const project = useProject()
  const { workload } = useSearch({ from: '/app/projects/$project/logs' })
  useTitle(project.name, texts.project.tabs.logs)
  // Another stream is another view: nothing of the one before may stay in it.
  return (
    <Logs
      key={`${project.id} ${workload ?? ''}`}
      project={project.id}
      slug={project.slug}
      workload={workload}
      names={project.status.workloads.map((item) => item.name)}
    />
  )
}

function Logs({
  project,
  slug,
  workload,
  names,
}: {
  project: string
  slug: string
  workload: string | undefined
  names: readonly string[]
}) {
  const navigate = useNavigate()
  const [search, setSearch] = useState('')
  const [errorsOnly, setErrorsOnly] = useState(false)
  const [following, setFollowing] = useState(true)
  const [wrap, setWrap] = useStored<'no' | 'yes'>('stackquay.logs.wrap', ['no', 'yes'])
  const [times, setTimes] = useStored<'yes' | 'no'>('stackquay.logs.times', ['yes', 'no'])
  const settled = useDebounced(search, 120)
  const log = useLog(project, workload, settled, errorsOnly, following)
  const [pausedAt, setPausedAt] = useState(0)
  const follow = (next: boolean) => {
    setPausedAt(log.buffer.lines.length + log.buffer.dropped)
    setFollowing(next)
  }
  const seen = names.length > 0 ? names : [...new Set(log.buffer.lines.slice(-500).map((line) => line.workload))]
  const nameKey = seen.join(' ')
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the names
  const colours = useMemo(() => coloursOf(workload === undefined ? seen : [workload]), [nameKey, workload])
  const fresh = log.buffer.lines.length + log.buffer.dropped - pausedAt

  return (
    <section
      aria-label={texts.project.tabs.logs}
      className="flex h-[calc(100dvh-7.25rem)] min-h-96 flex-col max-lg:h-[calc(100dvh-10.5rem)]"
    >
      <h2 className="sr-only">{texts.project.tabs.logs}</h2>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1.5 border-b border-line bg-surface px-4 py-2 sm:px-6">
        <select
          aria-label={t.workload}
          value={workload ?? ''}
          onChange={(event) =>
            void navigate({
              to: '/projects/$project/logs',
              params: { project: slug },
              search: event.target.value === '' ? {} : { workload: event.target.value },
              replace: true,
            })
          }
          className="h-8 max-w-44 cursor-pointer rounded-md border border-line-strong/60 bg-surface px-2"
        >
          <option value="">{t.allWorkloads}</option>
          {[...new Set([...names, ...(workload === undefined ? [] : [workload])])].map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <label className="relative min-w-0 flex-1 basis-36 sm:max-w-72">
          <span className="sr-only">{t.search}</span>
          <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-ink-3" />
          <input
            type="search"
            value={search}
            placeholder={t.searchPlaceholder}
            onChange={(event) => setSearch(event.target.value)}
            className="h-8 w-full rounded-md border border-line-strong/60 bg-surface pr-2 pl-8 focus-visible:outline-offset-0"
          />
        </label>
        <Toggle label={t.errorsOnly} title={t.errorsOnlyHelp} on={errorsOnly} onChange={setErrorsOnly} />
        <span className="numbers ml-auto text-sm text-ink-3 max-md:hidden">
          {t.lines(log.buffer.shown.length.toLocaleString(), log.buffer.lines.length.toLocaleString())}
        </span>
        <span className="flex items-center gap-0.5">
          <Button size="sm" icon={following ? Pause : Play} onClick={() => follow(!following)}>
            <span className="numbers">
              {following ? t.pause : `${t.follow}${fresh > 0 ? ` (${fresh.toLocaleString()})` : ''}`}
            </span>
          </Button>
          <IconToggle
            icon={<Clock aria-hidden className="size-4" />}
            label={t.times}
            on={times === 'yes'}
            onChange={(on) => setTimes(on ? 'yes' : 'no')}
          />
          <IconToggle
            icon={<WrapText aria-hidden className="size-4" />}
            label={t.wrap}
            on={wrap === 'yes'}
            onChange={(on) => setWrap(on ? 'yes' : 'no')}
          />
          <IconButton icon={Eraser} label={t.clear} size="sm" onClick={log.clear} />
          <DownloadButton project={project} slug={slug} workload={workload} />
        </span>
      </div>
      {log.buffer.dropped > 0 && log.older.state === 'none' && (
        <p className="border-b border-line bg-sunken px-6 py-1 text-sm text-ink-2">
          {t.dropped(log.buffer.dropped.toLocaleString())}
        </p>
      )}
      <div className="flex min-h-0 flex-1 flex-col bg-log">
        {log.error !== null && log.buffer.lines.length === 0 ? (
          <ErrorState error={log.error} onRetry={log.retry} />
        ) : (
          <LogViewer
            lines={log.buffer.shown}
            following={following}
            onFollowing={follow}
            search={settled}
            wrap={wrap === 'yes'}
            times={times === 'yes'}
            colours={colours}
            loading={log.state === 'connecting'}
            older={log.older}
            filtered={settled !== '' || errorsOnly}
          />
        )}
      </div>
      <p
        role="status"
        className={cx('text-sm text-warn', log.state === 'retrying' && 'border-t border-line bg-surface px-6 py-1')}
      >
        {log.state === 'retrying' ? t.retrying : ''}
      </p>
    </section>
  )
}

type LogState = 'connecting' | 'live' | 'retrying' | 'ended'

/** As many lines as the service gives at once. */
const page = 5000

/**
 * The stream in a buffer. Lines come faster than a screen can be drawn: they are appended as they come and drawn once
 * a frame.
 */
function useLog(project: string, workload: string | undefined, text: string, errorsOnly: boolean, following: boolean) {
  const buffer = useRef(new LogBuffer()).current
  const [, draw] = useState(0)
  const [state, setState] = useState<LogState>('connecting')
  const [error, setError] = useState<unknown>(null)
  const [attempt, setAttempt] = useState(0)
  /** From when on the view has all lines: null when from the first, undefined while only the stream has brought some. */
  const [complete, setComplete] = useState<string | null>()
  const [reading, setReading] = useState(false)

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt is a new stream
  useEffect(() => {
    const stop = new AbortController()
    let frame: number | null = null
    const drawSoon = () => {
      frame ??= requestAnimationFrame(() => {
        frame = null
        draw((count) => count + 1)
      })
    }
    // Enough time for the first lines of an empty log not to show as "no lines".
    let settle: ReturnType<typeof setTimeout> | undefined
    setError(null)
    setComplete(undefined)
    buffer.clear()
    client
      .followLogs(
        project,
        { workload, tail: page },
        {
          signal: stop.signal,
          onLines: (lines: readonly LogLine[]) => {
            buffer.append(lines)
            setState('live')
            drawSoon()
          },
          onState: (next) => {
            if (next === 'live') settle = setTimeout(() => setState('live'), 250)
            else if (next !== 'ended') setState(next)
          },
        },
      )
      .catch((failure: unknown) => {
        if (stop.signal.aborted) return
        setState('ended')
        setError(failure)
      })
    return () => {
      stop.abort()
      clearTimeout(settle)
      if (frame !== null) cancelAnimationFrame(frame)
    }
  }, [project, workload, buffer, attempt])

  useEffect(() => {
    buffer.setFilter({ text, errorsOnly })
    draw((count) => count + 1)
  }, [buffer, text, errorsOnly])

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
      const items = await readUntil(project, workload, began)
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

function Toggle({
  label,
  title,
  on,
  onChange,
}: {
  label: string
  title: string
  on: boolean
  onChange: (on: boolean) => void
}) {
  return (
    <button
      type="button"
      aria-pressed={on}
      title={title}
      onClick={() => onChange(!on)}
      className={cx(
        'h-7 rounded-md border px-2.5 text-sm whitespace-nowrap',
        on ? 'border-accent-ink bg-accent-soft text-accent-ink' : 'border-line bg-surface text-ink-2 hover:bg-hover',
      )}
    >
      {label}
    </button>
  )
}

function IconToggle({
  icon,
  label,
  on,
  onChange,
}: {
  icon: ReactNode
  label: string
  on: boolean
  onChange: (on: boolean) => void
}) {
  return (
    <button
      type="button"
      aria-pressed={on}
      aria-label={label}
      title={label}
      onClick={() => onChange(!on)}
      className={cx(
        'flex size-7 items-center justify-center rounded-md',
        on ? 'bg-accent-soft text-accent-ink' : 'text-ink-2 hover:bg-hover',
      )}
    >
      {icon}
    </button>
  )
}

/** The newest page of lines up to a time; without one, the newest of all. */
async function readUntil(
  project: string,
  workload: string | undefined,
  until: string | undefined,
): Promise<readonly LogLine[]> {
  const query = {
    limit: page,
    ...(workload === undefined ? {} : { workload }),
    ...(until === undefined ? {} : { until }),
  }
  return (await client.call('getProjectLogs', { params: { id: project }, query })).items
}

/** Everything the service keeps, page by page from the newest to the oldest, as a text file. */
function DownloadButton({ project, slug, workload }: { project: string; slug: string; workload: string | undefined }) {
  const [busy, setBusy] = useState(false)
  const download = async () => {
    setBusy(true)
    try {
      const parts: string[] = []
      let lines = await readUntil(project, workload, undefined)
      while (lines.length > 0) {
        parts.push(asText(lines))
        lines = notHeld(await readUntil(project, workload, lines[0]!.time), lines)
      }
      save(`${[slug, workload].filter(Boolean).join('-')}.log`, parts.reverse())
    } catch (error) {
      toastProblem(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <IconButton
      icon={Download}
      label={busy ? t.downloading : t.download}
      size="sm"
      busy={busy}
      onClick={() => void download()}
    />
  )
}

function save(name: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type: 'text/plain;charset=utf-8' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
