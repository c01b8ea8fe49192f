import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { runtimesQuery } from '../../api/queries.ts'
import { Choices } from '../../components/choices.tsx'
import { Check } from '../../components/field.tsx'
import { isObject } from '../../lib/settings-changes.ts'
import { useLabels } from '../../modules/use-labels.ts'
import { texts } from '../../texts/index.ts'

const t = texts.env

interface Receiver {
  readonly name: string
  readonly label: string
}

/** The runtimes that the project uses. */
export function useReceivers(project: ProjectView): readonly Receiver[] {
  const offered = useQuery(runtimesQuery(project.engine)).data?.runtimes ?? []
  return offered.filter(({ name }) => {
    const settings = project[name]
    return isObject(settings) && settings.enabled === true
  })
}

export function Receivers({
  engine,
  options,
  value,
  onChange,
  error,
}: {
  engine: string
  options: readonly Receiver[]
  value: readonly string[] | null
  onChange: (value: readonly string[] | null) => void
  error: string | null
}) {
  const labels = useLabels(engine)
  // One that is switched off now stays a receiver until a person removes it.
  const names = [...new Set([...options.map(({ name }) => name), ...(value ?? [])])]
  return (
    <div className="flex flex-col gap-2">
      <Choices
        label={t.receivers}
        value={value === null ? 'all' : 'some'}
        onChange={(choice) => onChange(choice === 'all' ? null : names)}
        options={[
          { value: 'all', label: t.allReceivers },
          { value: 'some', label: t.someReceivers },
        ]}
      />
      {value !== null && (
        <fieldset className="flex flex-wrap gap-x-4 gap-y-1.5 pl-6">
          <legend className="sr-only">{t.someReceivers}</legend>
          {names.map((name) => (
            <Check
              key={name}
              label={labels[name] ?? name}
              checked={value.includes(name)}
              onChange={(checked) => onChange(names.filter((one) => (one === name ? checked : value.includes(one))))}
            />
          ))}
        </fieldset>
      )}
      {error && <p className="text-sm text-bad">{error}</p>}
    </div>
  )
}
