import type { ProjectView } from '@stackquay/contract'
import { Check, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { planSettings, settleSettings } from '../api/changes.ts'
import { Button } from '../components/button.tsx'
import { toastDone } from '../components/toast.tsx'
import { texts } from '../texts/index.ts'
import { PlannedConfirm } from './planned-confirm.tsx'
import { engineReason } from './project-actions.ts'
import { useMay } from './use-may.ts'

const t = texts.notApplied
export const notApplied = 'not_applied'

/** What becomes of settings that were written and not carried out. */
export function NotAppliedActs({ project }: { project: ProjectView }) {
  const may = useMay()
  const [open, setOpen] = useState<'apply' | 'revert' | null>(null)
  if (!may('operate')) return null
  const reason = engineReason(project)
  return (
    <div className="mt-2 flex flex-wrap gap-2">
      <Button size="sm" icon={Check} reason={reason} onClick={() => setOpen('apply')}>
        {t.apply}
      </Button>
      <Button size="sm" icon={Undo2} reason={reason} onClick={() => setOpen('revert')}>
        {t.revert}
      </Button>
      {(['apply', 'revert'] as const).map((act) => (
        <PlannedConfirm
          key={act}
          open={open === act}
          onClose={() => setOpen(null)}
          title={t.titles[act]}
          detail={t.details[act]}
          submit={t[act]}
          look="primary"
          name={[act, project.id, String(project.generation)]}
          ask={(signal) => planSettings(act, project.id, signal)}
          onConfirm={async () => {
            await settleSettings(act, project.id)
            toastDone(t.begun[act])
          }}
        />
      ))}
    </div>
  )
}
