import type { AuditEntry } from '@stackquay/contract'
import { visibleText } from '@stackquay/contract/visible-text'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Activity, ChevronRight, RefreshCw } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { auditQuery, projectsQuery } from '../api/queries.ts'
import { IconButton } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { Facts } from '../components/facts.tsx'
import { MoreButton } from '../components/more-button.tsx'
import { Panel } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { Cell, Table } from '../components/table.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { formatDateTime } from '../lib/format.ts'
import { ChainState } from '../modules/chain-state.tsx'
import { ChangesView } from '../modules/changes-view.tsx'
import { OutcomePill } from '../modules/state-pill.tsx'
import { texts } from '../texts/index.ts'
import { AuditExport } from './audit-export.tsx'
import { AuditFilters } from './audit-filters.tsx'

const t = texts.activity

/** Who did what, with what came of it. The filter stands in the address. */
export function AuditView() {
  const { view: _, ...filter } = useSearch({ from: '/app/activity' })
  const navigate = useNavigate()
  const query = useInfiniteQuery(auditQuery(filter))
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-3">
        <ChainState />
        <span className="flex items-center gap-2">
          <IconButton
            icon={RefreshCw}
            label={texts.common.refresh}
            busy={query.isRefetching}
            onClick={() => void query.refetch()}
          />
          <AuditExport filter={filter} />
        </span>
      </div>
      <AuditFilters
        filter={filter}
        seenActors={items.map(({ actor }) => actor)}
        onChange={(next) => void navigate({ to: '/activity', search: { view: 'audit', ...next }, replace: true })}
      />
      {query.isPending ? (
        <SkeletonList rows={6} height="h-9" />
      ) : query.isError && items.length === 0 ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : (
        <Panel flush>
          {items.length === 0 ? (
            <EmptyState icon={Activity} title={t.noEntries} detail={t.noEntriesDetail} />
          ) : (
            <Table
              label={t.audit}
              head={[
                { title: t.columns.time },
                { title: t.columns.actor },
                { title: t.columns.action },
                { title: t.columns.target },
                { title: t.columns.outcome },
                { title: t.columns.source },
              ]}
            >
              {items.map((entry) => (
                <Row key={entry.id} entry={entry} />
              ))}
            </Table>
          )}
          <MoreButton query={query} />
        </Panel>
      )}
    </>
  )
}

function Row({ entry }: { entry: AuditEntry }) {
  const [open, setOpen] = useState(false)
  const label = t.actions[entry.action] ?? entry.action
  return (
    <>
      <tr className={cx('hover:bg-hover/60', open && 'border-b-0!')}>
        <Cell className="text-ink-2">
          <TimeAgo time={entry.time} />
        </Cell>
        <Cell className="whitespace-nowrap">{visibleText(entry.actor)}</Cell>
        <Cell className="whitespace-nowrap">
          <button
            type="button"
            aria-expanded={open}
            aria-label={t.showDetails(label)}
            onClick={() => setOpen(!open)}
            className="inline-flex min-h-6 items-center gap-1 rounded font-medium hover:underline"
          >
            {label}
            <ChevronRight aria-hidden className={cx('size-3.5 text-ink-3 transition-transform', open && 'rotate-90')} />
          </button>
        </Cell>
        <Cell className="max-w-64 truncate">{entry.target === null ? '–' : visibleText(entry.target)}</Cell>
        <Cell>
          <OutcomePill outcome={entry.outcome} />
        </Cell>
        <Cell className="whitespace-nowrap text-ink-2">{t.sources[entry.source]}</Cell>
      </tr>
      {open && (
        <tr>
          <td colSpan={6} className="px-4 pt-1 pb-4">
            {/* On a phone the table is wider than the screen; this is not. */}
            <div className="max-lg:sticky max-lg:left-4 max-lg:w-[calc(100vw-4.25rem)] sm:max-lg:w-[calc(100vw-5.25rem)]">
              <Details entry={entry} />
            </div>
          </td>
        </tr>
      )}
    </>
  )
}

function Details({ entry }: { entry: AuditEntry }) {
  const project = useQuery(projectsQuery).data?.find(({ id }) => id === entry.project)
  const facts: readonly (readonly [string, ReactNode])[] = [
    [
      t.facts.seq,
      <span key="seq" className="numbers">
        {entry.seq} · {formatDateTime(entry.time)}
      </span>,
    ],
    [t.facts.action, <code key="action">{entry.action}</code>],
    [
      t.facts.project,
      project === undefined ? (
        entry.project && <code key="project">{entry.project}</code>
      ) : (
        <Link
          key="project"
          to="/projects/$project"
          params={{ project: project.slug }}
          className="rounded text-accent-ink hover:underline"
        >
          {project.name}
        </Link>
      ),
    ],
    [
      t.facts.operation,
      entry.operationId && (
        <Link
          key="operation"
          to="/operations/$operation"
          params={{ operation: entry.operationId }}
          className="rounded text-accent-ink hover:underline"
        >
          <code>{entry.operationId}</code>
        </Link>
      ),
    ],
    [t.facts.request, entry.requestId && <code key="request">{entry.requestId}</code>],
    [
      t.facts.address,
      entry.ip && (
        <span key="ip" className="numbers">
          {entry.ip}
        </span>
      ),
    ],
    [t.facts.userAgent, entry.userAgent],
    [
      t.facts.hash,
      <code key="hash" className="[overflow-wrap:anywhere]">
        {entry.hash}
      </code>,
    ],
  ]
  return (
    <div className="grid max-w-6xl gap-x-8 gap-y-4 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
      <section>
        <h3 className="mb-1.5 text-sm font-medium">{t.changes}</h3>
        <ChangesView changes={entry.changes} />
      </section>
      <section className="text-sm">
        <h3 className="mb-1.5 text-sm font-medium">{t.details}</h3>
        <Facts items={facts.filter(([, value]) => value !== null && value !== '')} />
      </section>
    </div>
  )
}
