import type { ProjectSummary, ProjectView } from '@stackquay/contract'
import { useState } from 'react'
import { runLifecycle } from '../api/changes.ts'
import { toastProblem } from '../components/toast.tsx'

type Act = 'start' | 'stop' | 'restart'

/**
 * Whether a project is meant to be up, which decides what is offered, and whether anything may be done to it now: not
 * while an operation holds it. Something that hangs in its start is ended by cancelling its operation.
 */
export function actsOf(project: Pick<ProjectSummary | ProjectView, 'status' | 'operation'>): {
  up: boolean
  free: boolean
} {
  const { state, desired } = project.status
  return {
    up: desired === 'running' && state !== 'stopped' && state !== 'creating',
    free: project.operation === null && state !== 'creating' && state !== 'deleting',
  }
}

export function useLifecycle(project: string): {
  busy: Act | null
  run: (act: Act, workload?: string) => Promise<void>
} {
  const [busy, setBusy] = useState<Act | null>(null)
  return {
    busy,
    run: async (act, workload) => {
      setBusy(act)
      try {
        await runLifecycle(act, project, workload)
      } catch (error) {
        toastProblem(error)
      } finally {
        setBusy(null)
      }
    },
  }
}
