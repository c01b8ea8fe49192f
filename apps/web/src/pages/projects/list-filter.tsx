import type { ProjectSummary } from '@stackquay/contract'
import { LayoutGrid, Rows3, Search } from 'lucide-react'
import type { ReactNode } from 'react'
import { Segments } from '../../components/field.tsx'
import { engineName } from '../../modules/engine-badge.tsx'
import { type Labels, stackOf } from '../../modules/stack.ts'
import { texts } from '../../texts/index.ts'
import { projectStates } from '../project-states.ts'

const t = texts.projects

export interface ListFilter {
  readonly text: string
  readonly state: ProjectSummary['status']['state'] | 'all'
}
export type ListView = 'cards' | 'table'

export const noFilter: ListFilter = { text: '', state: 'all' }

export function matches(project: ProjectSummary, { text, state }: ListFilter, labels: Labels): boolean {
  if (state !== 'all' && project.status.state !== state) return false
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return true
  return [project.name, project.slug, project.url, engineName(project.engine), ...stackOf(project, labels)].some(
    (part) => part.toLowerCase().includes(wanted),
  )
}

interface FiltersProps {
  filter: ListFilter
  onChange: (filter: ListFilter) => void
  view: ListView
  onView: (view: ListView) => void
}

export function Filters({ filter, onChange, view, onView }: FiltersProps) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      <label className="relative min-w-0 flex-1 basis-28 sm:max-w-80">
        <span className="sr-only">{t.filter}</span>
        <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-ink-3" />
        <input
          type="search"
          value={filter.text}
          placeholder={t.filterPlaceholder}
          onChange={(event) => onChange({ ...filter, text: event.target.value })}
          className="h-8 w-full rounded-md border border-line-strong/60 bg-surface pr-2 pl-8 focus-visible:outline-offset-0"
        />
      </label>
      <select
        aria-label={t.stateFilter}
        value={filter.state}
        onChange={(event) => onChange({ ...filter, state: event.target.value as ListFilter['state'] })}
        className="h-8 cursor-pointer rounded-md border border-line-strong/60 bg-surface px-2 max-sm:w-28"
      >
        <option value="all">{t.allStates}</option>
        {projectStates.map((option) => (
          <option key={option} value={option}>
            {texts.states.project[option]}
          </option>
        ))}
      </select>
      <span className="flex-1 max-sm:hidden" />
      <Segments
        label={t.view}
        value={view}
        onChange={onView}
        options={[
          {
            value: 'cards',
            label: <ViewLabel icon={<LayoutGrid aria-hidden className="size-3.5" />} text={t.cards} />,
          },
          { value: 'table', label: <ViewLabel icon={<Rows3 aria-hidden className="size-3.5" />} text={t.table} /> },
        ]}
      />
    </div>
  )
}

function ViewLabel({ icon, text }: { icon: ReactNode; text: string }) {
  return (
    <>
      {icon}
      <span className="max-sm:sr-only">{text}</span>
    </>
  )
}
