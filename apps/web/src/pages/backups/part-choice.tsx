import { Check } from '../../components/field.tsx'
import type { PartOption } from '../../lib/backup-parts.ts'

interface PartChoiceProps {
  label: string
  options: readonly PartOption[]
  /** Ids of those that are left out. */
  left: ReadonlySet<string>
  onChange: (left: ReadonlySet<string>) => void
}

export function PartChoice({ label, options, left, onChange }: PartChoiceProps) {
  const toggle = (id: string, chosen: boolean) => {
    const next = new Set(left)
    if (chosen) next.delete(id)
    else next.add(id)
    onChange(next)
  }
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm font-medium">{label}</legend>
      <div className="flex flex-wrap gap-x-5 gap-y-2">
        {options.map(({ id, label: text }) => (
          <Check key={id} label={text} checked={!left.has(id)} onChange={(chosen) => toggle(id, chosen)} />
        ))}
      </div>
    </fieldset>
  )
}
