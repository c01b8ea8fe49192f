import type { Plan } from '@stackquay/contract'
import { ConfirmDialog, type ConfirmProps } from '../components/confirm-dialog.tsx'
import { texts } from '../texts/index.ts'
import { PlanView } from './plan-view.tsx'
import { usePlan } from './use-plan.ts'

interface PlannedConfirmProps extends Omit<ConfirmProps, 'disabled' | 'wide'> {
  /** Tells this plan from others. */
  name: readonly string[]
  ask: (signal: AbortSignal) => Promise<Plan>
}

/** An act with its plan above the button: what restarts and why, and whether data goes. */
export function PlannedConfirm({ name, ask, children, ...confirm }: PlannedConfirmProps) {
  const live = usePlan(name, confirm.open ? true : null, (_, signal) => ask(signal))
  return (
    <ConfirmDialog {...confirm} wide disabled={live.pending || live.plan === null}>
      {children}
      <div className="mb-4 rounded-lg border border-line bg-sunken p-3">
        <PlanView live={live} idle={texts.create.planning} />
      </div>
    </ConfirmDialog>
  )
}
