import { useVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown, ArrowUp, ScrollText } from 'lucide-react'
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  type UIEvent,
  useEffect,
  useLayoutEffect,
  useRef,
} from 'react'
import { Button } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { plainText, runsOf } from '../lib/ansi.ts'
import { formatClock, formatDateTime } from '../lib/format.ts'
import type { LogEntry } from '../lib/log-buffer.ts'
import type { Marks } from '../lib/log-marks.ts'
import { texts } from '../texts/index.ts'

const t = texts.logs
const rowHeight = 20

interface LogViewerProps {
  lines: readonly LogEntry[]
  /** Keeps the newest line in sight. Scrolling up ends it, scrolling to the end begins it again. */
  following: boolean
  onFollowing: (following: boolean) => void
  /** Where to mark what was searched for; null while nothing is. */
  marks: Marks | null
  wrap: boolean
  times: boolean
  /** Workload to colour; names are shown when there are several. */
  colours: Readonly<Record<string, string>>
  loading: boolean
  filtered: boolean
  older?: { readonly state: 'offered' | 'reading' | 'none'; readonly read: () => Promise<void> }
  words?: { readonly region: string; readonly empty: string; readonly emptyDetail: string }
}

const nothingOlder = { state: 'none', read: async () => {} } as const

/** A terminal's view of any number of lines: only those on the screen are in the document. */
export function LogViewer({
  lines,
  following,
  onFollowing,
  marks,
  wrap,
  times,
  colours,
  loading,
  filtered,
  older = nothingOlder,
  words = t,
}: LogViewerProps) {
  const box = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 30,
  })

  // biome-ignore lint/correctness/useExhaustiveDependencies: row heights change with it
  useEffect(() => virtual.measure(), [wrap])

  const setAnchor = useAnchor(box, lines, following)
  const scrolling = useScrollingByHand(following, onFollowing, setAnchor)
  const count = lines.length
  useLayoutEffect(() => {
    if (following && count > 0) virtual.scrollToIndex(count - 1, { align: 'end' })
  }, [following, count, virtual])

  if (count === 0) return <NoLines loading={loading} filtered={filtered} words={words} />
  return (
    <div className="relative flex min-h-0 flex-1">
      <div
        ref={box}
        role="log"
        aria-label={words.region}
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1)
        tabIndex={0}
        {...scrolling.handlers}
        className="scroll-thin h-full w-full overflow-auto py-1 font-mono text-xs leading-5 focus-visible:-outline-offset-2"
      >
        <div
          style={{
            height: virtual.getTotalSize(),
            position: 'relative',
            minWidth: '100%',
            width: wrap ? '100%' : 'max-content',
          }}
        >
          {virtual.getVirtualItems().map((row) => {
            const line = lines[row.index]
            if (line === undefined) return null
            return (
              <Row
                key={row.key}
                index={row.index}
                start={row.start}
                measure={wrap ? virtual.measureElement : undefined}
                line={line}
                marks={marks}
                wrap={wrap}
                times={times}
                colours={colours}
              />
            )
          })}
        </div>
      </div>
      {!following && (
        <PausedButtons
          older={older}
          onFollow={() => {
            scrolling.end()
            onFollowing(true)
          }}
        />
      )}
    </div>
  )
}

/** Lines that come or go above push the others: those in sight stay where they are. */
function useAnchor(box: RefObject<HTMLDivElement | null>, lines: readonly LogEntry[], following: boolean) {
  const anchor = useRef<{ readonly line: LogEntry | undefined; readonly row: number }>({ line: undefined, row: 0 })
  const setAnchor = () => {
    const row = Math.floor((box.current?.scrollTop ?? 0) / rowHeight)
    anchor.current = { line: lines[row], row }
  }
  useLayoutEffect(() => {
    const { line, row } = anchor.current
    if (!following && line !== undefined && lines[row] !== line && box.current !== null) {
      const now = lines.indexOf(line)
      if (now !== -1) box.current.scrollTop += (now - row) * rowHeight
    }
    setAnchor()
  })
  return setAnchor
}

/** Only a person's own scrolling ends following, or begins it again: new lines move the view too. */
function useScrollingByHand(following: boolean, onFollowing: (following: boolean) => void, onScrolled: () => void) {
  const byHand = useRef(false)
  const begin = () => {
    byHand.current = true
  }
  const end = () => {
    byHand.current = false
  }
  return {
    end,
    handlers: {
      onWheel: begin,
      onPointerDown: begin,
      onTouchMove: begin,
      onKeyDown: (event: KeyboardEvent) => {
        begin()
        if (event.key === 'End') onFollowing(true)
      },
      onScroll: ({ currentTarget: { scrollTop, scrollHeight, clientHeight } }: UIEvent) => {
        onScrolled()
        if (!byHand.current) return
        const atEnd = scrollHeight - scrollTop - clientHeight < rowHeight * 2
        if (atEnd !== following) onFollowing(atEnd)
        if (atEnd) end()
      },
    },
  }
}

function NoLines({ loading, filtered, words }: Required<Pick<LogViewerProps, 'loading' | 'filtered' | 'words'>>) {
  return (
    <div className="flex flex-1 items-center justify-center">
      {loading ? (
        <p role="status" className="text-ink-2">
          {texts.common.loading}
        </p>
      ) : filtered ? (
        <p className="text-ink-2">{t.noMatch}</p>
      ) : (
        <EmptyState icon={ScrollText} title={words.empty} detail={words.emptyDetail} />
      )}
    </div>
  )
}

interface RowProps extends Pick<LogViewerProps, 'marks' | 'wrap' | 'times' | 'colours'> {
  index: number
  /** Pixels from the top of all lines. */
  start: number
  /** Takes the element of a line that may be higher than others. */
  measure: ((element: HTMLElement | null) => void) | undefined
  line: LogEntry
}

function Row({ index, start, measure, line, marks, wrap, times, colours }: RowProps) {
  const names = Object.keys(colours).length > 1
  const nameWidth = Math.min(20, Math.max(...Object.keys(colours).map((name) => name.length), 4))
  return (
    <div
      ref={measure}
      data-index={index}
      style={{
        position: 'absolute',
        top: 0,
        minWidth: '100%',
        width: wrap ? '100%' : 'max-content',
        transform: `translateY(${start}px)`,
      }}
      className={cx(
        'flex min-h-5 gap-3 border-l-2 px-3 hover:bg-hover',
        line.stream === 'stderr' ? 'border-bad/70' : 'border-transparent',
      )}
    >
      {times && (
        <time
          dateTime={line.time}
          title={formatDateTime(line.time)}
          className="numbers shrink-0 text-ink-3 select-none"
        >
          {formatClock(line.time)}
        </time>
      )}
      {names && (
        <span
          className="shrink-0 truncate select-none"
          style={{ width: `${nameWidth}ch`, color: colours[line.workload] }}
        >
          {line.workload}
        </span>
      )}
      <span className={cx('min-w-0', wrap ? 'break-all whitespace-pre-wrap' : 'whitespace-pre')}>
        <LineText text={line.text} marks={marks} />
      </span>
    </div>
  )
}

function PausedButtons({ older, onFollow }: { older: NonNullable<LogViewerProps['older']>; onFollow: () => void }) {
  return (
    <>
      {older.state !== 'none' && (
        <Button
          size="sm"
          icon={ArrowUp}
          busy={older.state === 'reading'}
          onClick={() => void older.read()}
          className="absolute top-2 right-5 rounded-full shadow-pop"
        >
          {older.state === 'reading' ? t.loadingOlder : t.older}
        </Button>
      )}
      <button
        type="button"
        onClick={onFollow}
        className="absolute right-5 bottom-4 inline-flex h-8 items-center gap-1.5 rounded-full border border-line bg-raised px-3 text-sm shadow-pop hover:bg-hover"
      >
        <ArrowDown aria-hidden className="size-3.5" />
        {t.toEnd}
      </button>
    </>
  )
}

/** The eight colours of terminals in tones that are readable on both grounds. */
const ansiColours = ['--ink-3', '--bad', '--good', '--warn', '--busy', '--series-4', '--series-3', '--ink']

function LineText({ text, marks }: { text: string; marks: Marks | null }): ReactNode {
  if (marks !== null) {
    return marks(plainText(text)).map((part, index) => {
      if (!part.hit) return part.text
      return (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of one line have no identity
        <mark key={index} className="rounded-xs bg-mark text-ink">
          {part.text}
        </mark>
      )
    })
  }
  return runsOf(text).map((run, index) =>
    run.color === null && !run.bold && !run.dim ? (
      run.text
    ) : (
      <span
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of one line have no identity
        key={index}
        style={{
          color: run.color === null ? (run.dim ? 'var(--ink-3)' : undefined) : `var(${ansiColours[run.color]})`,
          fontWeight: run.bold ? 600 : undefined,
        }}
      >
        {run.text}
      </span>
    ),
  )
}
