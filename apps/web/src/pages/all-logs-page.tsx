import type { FoundLine } from '@stackquay/contract'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { ScrollText } from 'lucide-react'
import { useState } from 'react'
import { logSearchQuery } from '../api/log-stats.ts'
import { projectsQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { Check, SelectField, TextField } from '../components/field.tsx'
import { Form } from '../components/form.tsx'
import { MoreButton } from '../components/more-button.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { plainText } from '../lib/ansi.ts'
import { formatDateTime } from '../lib/format.ts'
import { levels, spans } from '../lib/log-query.ts'
import { type AllLogsSearch, readAllLogsSearch } from '../lib/log-search.ts'
import { texts } from '../texts/index.ts'
import { useTitle } from './use-title.ts'

const t = texts.allLogs

export function AllLogsPage() {
  useTitle(t.title)
  const search = useSearch({ from: '/app/logs' })
  const navigate = useNavigate()
  return (
    <div className="flex w-full max-w-[96rem] flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader title={t.title} detail={t.detail} />
      <SearchForm
        key={JSON.stringify(search)}
        search={search}
        onSearch={(next) => void navigate({ to: '/logs', search: next })}
      />
      <Found search={search} />
    </div>
  )
}

function SearchForm({ search, onSearch }: { search: AllLogsSearch; onSearch: (next: AllLogsSearch) => void }) {
  const projects = useQuery(projectsQuery).data ?? []
  const [q, setQ] = useState(search.q ?? '')
  const [regex, setRegex] = useState(search.regex ?? false)
  const [level, setLevel] = useState<string>(search.level ?? '')
  const [since, setSince] = useState<string>(search.since ?? '')
  const [project, setProject] = useState(search.project ?? '')
  return (
    <Form onSubmit={async () => onSearch(readAllLogsSearch({ q, ...(regex ? { regex } : {}), level, since, project }))}>
      <div className="grid grid-cols-1 items-end gap-3 sm:grid-cols-2 lg:grid-cols-[2fr_1fr_1fr_1fr_auto]">
        <TextField
          label={t.text}
          type="search"
          required
          maxLength={200}
          spellCheck={false}
          value={q}
          onChange={(event) => setQ(event.target.value)}
        />
        <SelectField label={t.project} value={project} onChange={(event) => setProject(event.target.value)}>
          <option value="">{t.allProjects}</option>
          {projects.map(({ id, slug, name }) => (
            <option key={id} value={slug}>
              {name}
            </option>
          ))}
        </SelectField>
        <SelectField label={texts.logs.level} value={level} onChange={(event) => setLevel(event.target.value)}>
          <option value="">{texts.logs.allLevels}</option>
          {levels.map((name) => (
            <option key={name} value={name}>
              {texts.logs.levels[name]}
            </option>
          ))}
        </SelectField>
        <SelectField label={texts.logs.time} value={since} onChange={(event) => setSince(event.target.value)}>
          <option value="">{texts.logs.anyTime}</option>
          {Object.keys(spans).map((span) => (
            <option key={span} value={span}>
              {texts.logs.spans[span as keyof typeof spans]}
            </option>
          ))}
        </SelectField>
        <Button type="submit" look="primary">
          {t.search}
        </Button>
      </div>
      <Check label={texts.logs.regex} checked={regex} onChange={setRegex} />
    </Form>
  )
}

function Found({ search }: { search: AllLogsSearch }) {
  const query = useInfiniteQuery(logSearchQuery(search))
  if (search.q === undefined) return null
  if (query.isPending) return <SkeletonList rows={8} height="h-7" />
  const pages = query.data?.pages ?? []
  const items = pages.flatMap((page) => page.items)
  if (query.isError && items.length === 0)
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  const isPartial = pages.some(({ partial }) => partial)
  return (
    <Panel flush>
      {isPartial && (
        <p role="status" className="border-b border-line px-4 py-2 text-sm text-warn">
          {t.partial}
        </p>
      )}
      {items.length === 0 ? (
        <EmptyState icon={ScrollText} title={t.none} detail={t.noneDetail} />
      ) : (
        <ul aria-label={t.found} className="divide-y divide-line">
          {items.map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines only come behind the others, and never change
            <Line key={index} line={line} />
          ))}
        </ul>
      )}
      <MoreButton query={query} />
    </Panel>
  )
}

/** It leads to the lines around it. */
function Line({ line: { project, workload, time, text } }: { line: FoundLine }) {
  const at = Date.parse(time)
  const around = { since: new Date(at - minute).toISOString(), until: new Date(at + minute).toISOString() }
  return (
    <li className="min-w-0">
      <Link
        to="/projects/$project/logs"
        params={{ project }}
        search={{ workload, ...around }}
        className="flex min-w-0 flex-wrap items-baseline gap-x-3 px-4 py-1.5 text-sm hover:bg-hover/60 sm:flex-nowrap"
      >
        <time dateTime={time} className="numbers shrink-0 text-ink-3">
          {formatDateTime(time)}
        </time>
        <span className="shrink-0 font-medium">
          {project} <span className="font-normal text-ink-2">{workload}</span>
        </span>
        <span className="w-full min-w-0 truncate font-mono sm:w-auto">{plainText(text)}</span>
      </Link>
    </li>
  )
}

const minute = 60_000
