import { useQuery } from '@tanstack/react-query'
import { Search } from 'lucide-react'
import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { projectsQuery, usersQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import {
  type AuditFilter,
  fromLocalInput,
  isNarrowed,
  type Outcome,
  outcomes,
  type Period,
  periods,
  toLocalInput,
} from '../lib/audit-filter.ts'
import { texts } from '../texts/index.ts'

const t = texts.activity
const control = 'h-8 min-w-0 rounded-md border border-line-strong/60 bg-surface focus-visible:outline-offset-0'
const groups = Object.entries(t.actionGroups).map(([prefix, label]) => ({
  label,
  actions: Object.keys(t.actions).filter((action) => action.startsWith(`${prefix}.`)),
}))

export function AuditFilters({
  filter,
  seenActors,
  onChange,
}: {
  filter: AuditFilter
  seenActors: readonly string[]
  onChange: (filter: AuditFilter) => void
}) {
  const set = (change: AuditFilter) => onChange(withoutEmpty({ ...filter, ...change }))
  return (
    <search aria-label={t.filters} className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <TextFilter
          type="search"
          label={t.search}
          placeholder={t.searchPlaceholder}
          value={filter.q ?? ''}
          onChange={(q) => set({ q })}
          className="flex-1 basis-48 max-sm:basis-full sm:max-w-72"
        />
        <ActorFilter value={filter.actor} seen={seenActors} onChange={(actor) => set({ actor })} />
        <ActionFilter value={filter.action} onChange={(action) => set({ action })} />
        <ProjectFilter value={filter.project} onChange={(project) => set({ project })} />
        <Select
          label={t.outcome}
          value={filter.outcome}
          onChange={(outcome) => set({ outcome: outcome as Outcome | undefined })}
          all={t.allOutcomes}
        >
          {outcomes.map((outcome) => (
            <option key={outcome} value={outcome}>
              {t.outcomes[outcome]}
            </option>
          ))}
        </Select>
        <Select
          label={t.period}
          value={filter.period}
          onChange={(period) => set({ period: period as Period | undefined, since: undefined, until: undefined })}
          all={t.periods.any}
        >
          {periods.map((period) => (
            <option key={period} value={period}>
              {t.periods[period]}
            </option>
          ))}
        </Select>
        {isNarrowed(filter) && (
          <Button look="ghost" onClick={() => onChange({})}>
            {t.clearFilters}
          </Button>
        )}
      </div>
      {filter.period === 'custom' && (
        <div className="flex flex-wrap gap-x-4 gap-y-2">
          <Moment label={t.since} value={filter.since} onChange={(since) => set({ since })} />
          <Moment label={t.until} value={filter.until} onChange={(until) => set({ until })} />
        </div>
      )}
    </search>
  )
}

interface FilterProps {
  value: string | undefined
  onChange: (value: string | undefined) => void
}

function ActorFilter({ value, onChange, seen }: FilterProps & { seen: readonly string[] }) {
  const users = useQuery(usersQuery).data ?? []
  const actorList = useId()
  const actors = [...new Set([...users.map(({ username }) => username), ...seen])]
  return (
    <>
      <TextFilter
        label={t.actor}
        placeholder={`${t.actor}: ${t.actorPlaceholder}`}
        list={actorList}
        value={value ?? ''}
        onChange={onChange}
        className="min-w-32 basis-40 max-sm:flex-1"
      />
      <datalist id={actorList}>
        {actors.map((actor) => (
          <option key={actor} value={actor} />
        ))}
      </datalist>
    </>
  )
}

function ActionFilter({ value, onChange }: FilterProps) {
  return (
    <Select label={t.action} value={value} onChange={onChange} all={t.allActions}>
      {value !== undefined && t.actions[value] === undefined && <option value={value}>{value}</option>}
      {groups.map((group) => (
        <optgroup key={group.label} label={group.label}>
          {group.actions.map((action) => (
            <option key={action} value={action}>
              {t.actions[action]}
            </option>
          ))}
        </optgroup>
      ))}
    </Select>
  )
}

function ProjectFilter({ value, onChange }: FilterProps) {
  const projects = useQuery(projectsQuery).data ?? []
  // An address that a person wrote may name a project by its slug.
  const project = projects.find(({ id, slug }) => id === value || slug === value)?.id ?? value
  return (
    <Select label={t.project} value={project} onChange={onChange} all={t.allProjects}>
      {project !== undefined && !projects.some(({ id }) => id === project) && (
        <option value={project}>{project}</option>
      )}
      {projects.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </Select>
  )
}

function Select({
  label,
  value,
  onChange,
  all,
  children,
}: {
  label: string
  value: string | undefined
  onChange: (value: string | undefined) => void
  all: string
  children: ReactNode
}) {
  return (
    <select
      aria-label={label}
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value)}
      className={cx(control, 'max-w-48 cursor-pointer px-2 max-sm:max-w-none max-sm:flex-1 max-sm:basis-32')}
    >
      <option value="">{all}</option>
      {children}
    </select>
  )
}

/** Asks a moment after the last key: every letter would be a request. */
function TextFilter({
  label,
  placeholder,
  value,
  onChange,
  type = 'text',
  list,
  className,
}: {
  label: string
  placeholder: string
  value: string
  onChange: (value: string) => void
  type?: 'text' | 'search'
  list?: string
  className: string
}) {
  const [text, setText] = useState(value)
  const applied = useRef(value)
  // The filter was cleared, or the browser went back.
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
      apply.current(next)
    }, 300)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <label className={cx('relative min-w-0', className)}>
      <span className="sr-only">{label}</span>
      {type === 'search' && (
        <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-ink-3" />
      )}
      <input
        type={type}
        list={list}
        value={text}
        placeholder={placeholder}
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        onChange={(event) => setText(event.target.value)}
        className={cx(control, 'w-full pr-2', type === 'search' ? 'pl-8' : 'pl-2.5')}
      />
    </label>
  )
}

function Moment({
  label,
  value,
  onChange,
}: {
  label: string
  value: string | undefined
  onChange: (value: string | undefined) => void
}) {
  return (
    <label className="flex items-center gap-2 text-sm">
      {label}
      <input
        type="datetime-local"
        value={toLocalInput(value)}
        onChange={(event) => onChange(fromLocalInput(event.target.value))}
        className={cx(control, 'px-2 text-base')}
      />
    </label>
  )
}

function withoutEmpty(filter: AuditFilter): AuditFilter {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined && value !== ''))
}
