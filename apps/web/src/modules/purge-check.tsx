import { Check } from '../components/field.tsx'
import { texts } from '../texts/index.ts'

/** Whether what is deleted skips the trash. */
export function PurgeCheck({ checked, onChange }: { checked: boolean; onChange: (checked: boolean) => void }) {
  return (
    <div className="mb-4">
      <Check label={texts.trash.purgeCheck} help={texts.trash.purgeCheckHelp} checked={checked} onChange={onChange} />
    </div>
  )
}
