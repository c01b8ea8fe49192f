import type { CronPreset, WorkerPreset } from '@stackquay/contract'
import { Plus } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { commandLine } from '../../lib/command-line.ts'
import { texts } from '../../texts/index.ts'

const t = texts.workers

/** What the dependencies of the source suggest; nothing when they suggest none. */
export function Presets<Preset extends WorkerPreset | CronPreset>({
  presets,
  onAdd,
}: {
  presets: readonly Preset[]
  /** Absent for who may change nothing. */
  onAdd: ((preset: Preset) => void) | undefined
}) {
  if (presets.length === 0) return null
  return (
    <div className="border-t border-line px-4 py-3">
      <h4 className="text-sm font-medium text-ink-2">{t.suggested}</h4>
      <ul className="divide-y divide-line">
        {presets.map((preset) => (
          <li key={preset.name} className="flex flex-wrap items-center gap-x-4 gap-y-1 py-2">
            <div className="min-w-0 flex-1 basis-48">
              <p className="font-medium">{preset.label}</p>
              <p className="text-sm text-ink-3">
                <code className="break-words">{commandLine(preset.command)}</code> · {preset.because}
              </p>
            </div>
            {onAdd !== undefined && (
              <Button size="sm" icon={Plus} onClick={() => onAdd(preset)}>
                {t.add}
                <span className="sr-only"> {preset.label}</span>
              </Button>
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}
