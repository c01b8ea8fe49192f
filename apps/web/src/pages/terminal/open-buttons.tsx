import type { ProjectView, Terminal } from '@stackquay/contract'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { openTerminal } from '../../api/terminals.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { toastProblem } from '../../components/toast.tsx'
import { engineReason } from '../../modules/project-actions.ts'
import { useLabels } from '../../modules/use-labels.ts'
import { texts } from '../../texts/index.ts'

const t = texts.terminal

type Open = (workload: string | undefined) => Promise<void>

export function useOpen(project: ProjectView, then: (terminal: Terminal) => void): { busy: boolean; open: Open } {
  const [busy, setBusy] = useState(false)
  return {
    busy,
    open: async (workload) => {
      setBusy(true)
      try {
        then(await openTerminal(project.id, workload))
      } catch (error) {
        toastProblem(error)
      } finally {
        setBusy(false)
      }
    },
  }
}

/** Whose environment a terminal may have. */
function useEnvironments(project: ProjectView): readonly { readonly name: string; readonly label: string }[] {
  const labels = useLabels(project.engine)
  return project.status.workloads
    .filter((workload) => workload.kind === 'runtime')
    .map(({ name }) => ({ name, label: labels[name] ?? name }))
}

interface OpenProps {
  project: ProjectView
  busy: boolean
  onOpen: Open
}

export function OpenButtons({ project, busy, onOpen }: OpenProps) {
  const environments = useEnvironments(project)
  const reason = engineReason(project)
  if (environments.length < 2) {
    return (
      <Button icon={Plus} look="primary" busy={busy} reason={reason} onClick={() => void onOpen(environments[0]?.name)}>
        {t.open}
      </Button>
    )
  }
  return environments.map(({ name, label }) => (
    <Button key={name} icon={Plus} busy={busy} reason={reason} onClick={() => void onOpen(name)}>
      {t.openFor(label)}
    </Button>
  ))
}

export function NewButton({ project, busy, onOpen }: OpenProps) {
  const environments = useEnvironments(project)
  const reason = engineReason(project)
  if (environments.length < 2 || reason !== null) {
    return (
      <IconButton
        icon={Plus}
        label={t.open}
        look="secondary"
        size="sm"
        busy={busy}
        reason={reason}
        onClick={() => void onOpen(environments[0]?.name)}
      />
    )
  }
  return (
    <Menu trigger={<IconButton icon={Plus} label={t.open} look="secondary" size="sm" busy={busy} />}>
      {environments.map(({ name, label }) => (
        <MenuItem key={name} onSelect={() => void onOpen(name)}>
          {t.openFor(label)}
        </MenuItem>
      ))}
    </Menu>
  )
}
