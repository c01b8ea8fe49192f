import { Regex, Search } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { cx } from '../../components/class-names.ts'
import { IconToggle } from '../../components/toggle.tsx'
import { useDebounced } from '../../components/use-debounced.ts'
import { isSpan, type LogSearch, levels, localTime, spans, timeOf } from '../../lib/log-query.ts'
import { texts } from '../../texts/index.ts'

const t = texts.logs

/** What the service is asked for; it stands in the address. */
export function Filters({
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
      <Select
        label={t.workload}
        value={workload}
        onChange={(name) => set({ workload: name })}
        all={t.allWorkloads}
        options={[...new Set([...names, ...(workload === undefined ? [] : [workload])])].map((name) => [name, name])}
      />
      <SearchBox
        text={text}
        onText={setText}
        regex={search.regex ?? false}
        onRegex={(on) => set({ regex: on ? true : undefined })}
        invalid={invalid && search.q !== undefined}
      />
      <Select
        label={t.level}
        value={level}
        onChange={(name) => set({ level: name as NonNullable<typeof level> })}
        all={t.allLevels}
        options={levels.map((name) => [name, t.levels[name]])}
      />
      <Select
        label={t.time}
        value={custom ? 'custom' : since}
        onChange={(span) => {
          setCustom(span === 'custom')
          if (span !== 'custom') set({ since: span, until: undefined })
        }}
        all={t.anyTime}
        options={[
          ...Object.keys(spans).map((span) => [span, t.spans[span as keyof typeof spans]] as const),
          ['custom', t.customTime],
        ]}
      />
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

interface SelectProps {
  label: string
  value: string | undefined
  onChange: (value: string) => void
  /** What stands there while nothing is chosen. */
  all: string
  /** Values with their labels. */
  options: readonly (readonly [string, string])[]
}

function Select({ label, value, onChange, all, options }: SelectProps) {
  return (
    <select
      aria-label={label}
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value)}
      className="h-8 max-w-32 min-w-0 cursor-pointer rounded-md border border-line-strong/60 bg-surface px-2"
    >
      <option value="">{all}</option>
      {options.map(([name, text]) => (
        <option key={name} value={name}>
          {text}
        </option>
      ))}
    </select>
  )
}

interface SearchBoxProps {
  text: string
  onText: (text: string) => void
  regex: boolean
  onRegex: (on: boolean) => void
  invalid: boolean
}

function SearchBox({ text, onText, regex, onRegex, invalid }: SearchBoxProps) {
  return (
    <div className="relative min-w-0 flex-1 basis-40 sm:max-w-72">
      <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-ink-3" />
      <input
        type="search"
        aria-label={t.search}
        value={text}
        maxLength={200}
        placeholder={regex ? t.regexPlaceholder : t.searchPlaceholder}
        aria-invalid={invalid || undefined}
        spellCheck={false}
        onChange={(event) => onText(event.target.value)}
        className={cx(
          'h-8 w-full rounded-md border bg-surface pr-9 pl-8 focus-visible:outline-offset-0',
          regex && 'font-mono text-sm',
          invalid ? 'border-bad' : 'border-line-strong/60',
        )}
      />
      <span className="absolute top-0.5 right-0.5">
        <IconToggle icon={Regex} label={t.regex} on={regex} onChange={onRegex} />
      </span>
    </div>
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
