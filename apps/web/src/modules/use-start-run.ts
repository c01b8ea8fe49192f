import type { ProjectView, Run } from '@stackquay/contract'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

/** Starts runs from one of the pages that have some and shows the run there. `busy` is the name of what is being started. */
export function useStartRun(project: ProjectView, page: 'actions' | 'tests' | 'workers') {
  const navigate = useNavigate()
  const [busy, setBusy] = useState<string | null>(null)
  const start = async (name: string, begin: () => Promise<Run>) => {
    setBusy(name)
    try {
      const run = await begin()
      const params = { project: project.slug }
      await navigate({ to: `/projects/$project/${page}`, params, search: { run: run.id } })
    } finally {
      setBusy(null)
    }
  }
  return { busy, start }
}
