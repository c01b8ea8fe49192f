import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { runtimesQuery } from '../../api/queries.ts'
import { SelectField } from '../../components/field.tsx'
import { texts } from '../../texts/index.ts'

const t = texts.workers

/** In whose place it runs; not there while the project has one runtime. */
export function RuntimeField({
  project,
  value,
  onChange,
  error,
}: {
  project: ProjectView
  value: string | null
  onChange: (value: string | null) => void
  error: string | null
}) {
  const known = useQuery(runtimesQuery(project.engine)).data?.runtimes ?? []
  const own = known.filter(({ name }) => (project[name] as { enabled?: boolean } | undefined)?.enabled === true)
  if (own.length < 2 && (value === null || own.some(({ name }) => name === value)) && error === null) return null
  return (
    <SelectField
      label={t.runtime}
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value === '' ? null : event.target.value)}
      error={error}
    >
      <option value="">{t.firstRuntime}</option>
      {own.map(({ name, label }) => (
        <option key={name} value={name}>
          {label}
        </option>
      ))}
      {value !== null && !own.some(({ name }) => name === value) && <option value={value}>{value}</option>}
    </SelectField>
  )
}
