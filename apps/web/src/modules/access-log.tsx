import type { AccessEntry } from '@stackquay/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { RotateCw, Route, Search } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { type AccessFilter, accessLogQuery } from '../api/network.ts'
import { Button, IconButton } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { MoreButton } from '../components/more-button.tsx'
import { Panel } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { Cell, Table } from '../components/table.tsx'
import { formatBytes } from '../lib/format.ts'
import { formatLatency, formatMoment } from '../lib/traffic.ts'
import { deviceOf } from '../lib/user-agent.ts'
import { texts } from '../texts/index.ts'

const t = texts.network.log
const classes = ['2xx', '3xx', '4xx', '5xx'] as const
const codes = [
  '200',
  '204',
  '301',
  '302',
  '304',
  '307',
  '308',
  '400',
  '401',
  '403',
  '404',
  '410',
  '429',
  '500',
  '502',
  '503',
  '504',
]
const control = 'h-8 min-w-0 rounded-md border border-line-strong/60 bg-surface focus-visible:outline-offset-0'

interface AccessLogProps {
  project: string
  filter: AccessFilter
  onFilter: (change: { status?: string | undefined; q?: string | undefined }) => void
}

/** Requests, the newest first. */
export function AccessLog({ project, filter, onFilter }: AccessLogProps) {
  const query = useInfiniteQuery(accessLogQuery(project, filter))
  const entries = query.data?.pages.flatMap((page) => page.items) ?? []
  const isNarrowed = filter.status !== undefined || filter.q !== undefined
  return (
    <Panel
      title={t.title}
      flush
      actions={
        <>
          <SearchField value={filter.q ?? ''} onChange={(q) => onFilter({ q })} />
          <StatusFilter value={filter.status} onChange={(status) => onFilter({ status })} />
          <IconButton
            icon={RotateCw}
            label={t.refresh}
            busy={query.isRefetching}
            onClick={() => void query.refetch()}
          />
        </>
      }
    >
      {query.isPending ? (
        <SkeletonList rows={5} height="h-7" />
      ) : query.data === undefined ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : entries.length === 0 ? (
        <EmptyState icon={Route} title={isNarrowed ? t.noMatch : t.none} detail={isNarrowed ? undefined : t.noneDetail}>
          {isNarrowed && (
            <Button onClick={() => onFilter({ status: undefined, q: undefined })}>{t.clearFilters}</Button>
          )}
        </EmptyState>
      ) : (
        <>
          <Table
            label={t.title}
            head={[
              { title: t.columns.time },
              { title: t.columns.status },
              { title: t.columns.request },
              { title: t.columns.took, end: true },
              { title: t.columns.size, end: true },
              { title: t.columns.client },
            ]}
          >
            {entries.map((entry, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two requests may be alike in all they have
              <EntryRow key={`${entry.time} ${index}`} entry={entry} />
            ))}
          </Table>
          <MoreButton query={query} />
        </>
      )}
    </Panel>
  )
}

function EntryRow({ entry }: { entry: AccessEntry }) {
  const { program, system } = deviceOf(entry.userAgent)
  const device = texts.sessions.device(program, system)
  return (
    <tr className="hover:bg-hover/60">
      <Cell className="numbers align-top whitespace-nowrap text-ink-2">
        <time dateTime={entry.time}>{formatMoment(entry.time)}</time>
      </Cell>
      <Cell className="numbers align-top">
        <span className={cx('font-medium', statusLook(entry.status))}>{entry.status}</span>
      </Cell>
      <Cell className="w-full max-w-0 min-w-72 align-top">
        <span className="flex min-w-0 items-baseline gap-2">
          <code className="shrink-0 text-ink-2">{entry.method}</code>
          <code className="truncate" title={entry.path}>
            {entry.path}
          </code>
        </span>
        <span className="flex min-w-0 gap-2 text-sm text-ink-3">
          <span className="truncate">{entry.host}</span>
          {entry.via === 'share' && <span className="shrink-0">{t.viaShare}</span>}
          {entry.by !== null && <span className="shrink-0">{answeredBy(entry.by)}</span>}
        </span>
      </Cell>
      <Cell end className="numbers align-top whitespace-nowrap">
        {formatLatency(entry.seconds)}
      </Cell>
      <Cell end className="numbers align-top whitespace-nowrap text-ink-2">
        {formatBytes(entry.bytes)}
      </Cell>
      <Cell className="align-top whitespace-nowrap">
        <code>{entry.client}</code>
        {device !== '' && (
          <span className="block max-w-48 truncate text-sm text-ink-3" title={entry.userAgent ?? undefined}>
            {device}
          </span>
        )}
      </Cell>
    </tr>
  )
}

function statusLook(status: number): string {
  if (status >= 500) return 'text-bad'
  return status >= 400 ? 'text-warn' : status >= 300 ? 'text-ink-2' : 'text-good'
}

function answeredBy(rule: string): string {
  return t.answeredBy[rule] ?? t.answeredByRule(rule)
}

function StatusFilter({
  value,
  onChange,
}: {
  value: string | undefined
  onChange: (status: string | undefined) => void
}) {
  const known = value === undefined || [...classes, ...codes].includes(value)
  return (
    <select
      aria-label={t.status}
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value)}
      className={cx(control, 'cursor-pointer px-2')}
    >
      <option value="">{t.allStatuses}</option>
      {!known && <option value={value}>{value}</option>}
      <optgroup label={t.statusClasses}>
        {classes.map((name) => (
          <option key={name} value={name}>
            {t.classes[name]}
          </option>
        ))}
      </optgroup>
      <optgroup label={t.statusCodes}>
        {codes.map((code) => (
          <option key={code} value={code}>
            {code}
          </option>
        ))}
      </optgroup>
    </select>
  )
}

/** Asks a moment after the last key: every letter would be a request. */
function SearchField({ value, onChange }: { value: string; onChange: (text: string | undefined) => void }) {
  const [text, setText] = useState(value)
  const applied = useRef(value)
  // The filters were cleared, or the browser went back.
  if (value !== applied.current) {
    applied.current = value
    setText(value)
  }
  const apply = useRef(onChange)
  apply.current = onChange
  useEffect(() => {
    const next = text.trim()
    if (next === applied.current) return
    const timer = setTimeout(() => {
      applied.current = next
      apply.current(next === '' ? undefined : next)
    }, 300)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <label className="relative min-w-0 flex-1 basis-28 sm:w-64">
      <span className="sr-only">{t.search}</span>
      <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-ink-3" />
      <input
        type="search"
        value={text}
        placeholder={t.searchPlaceholder}
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        onChange={(event) => setText(event.target.value)}
        className={cx(control, 'w-full pr-2 pl-8')}
      />
    </label>
  )
}
