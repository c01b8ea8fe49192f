import type { ProjectView } from '@stackquay/contract'
import { Unplug } from 'lucide-react'
import { texts } from '../texts/index.ts'

const t = texts.engines
export const engineSilence = 'engine_unavailable'

/** Above all that is shown of a project whose engine does not answer: why, and that it is from before. */
export function EngineSilence({ project }: { project: ProjectView }) {
  if (project.status.state !== 'unknown') return null
  const said = project.status.warnings.find((warning) => warning.code === engineSilence)
  return (
    <div role="status" className="flex gap-2.5 border-b border-warn/30 bg-warn-soft px-4 py-2.5 sm:px-6">
      <Unplug aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
      <div className="min-w-0">
        <p className="font-medium break-words">{said?.detail ?? t.noAnswer}</p>
        <p className="break-words text-ink-2">{said?.hint ?? t.noAnswerHint}</p>
      </div>
    </div>
  )
}
