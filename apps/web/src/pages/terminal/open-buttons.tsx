import type { ProjectView, Terminal } from '@stackquay/contract'
import { Database, Plus } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { openTerminal } from '../../api/terminals.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { Menu, MenuItem, MenuSeparator } from '../../components/menu.tsx'
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

/** Databases and services beside which one may run while they do. */
function besideItems(project: ProjectView, onOpen: Open): readonly ReactNode[] {
  return project.status.workloads
    .filter(({ kind }) => kind === 'database' || kind === 'service')
    .map(({ name, title, state }) => {
      const up = project.status.state === 'sleeping' || (state !== 'stopped' && state !== 'crashed')
      return (
        <MenuItem key={name} icon={Database} disabled={!up} onSelect={() => void onOpen(name)}>
          {up ? t.openFor(title) : t.notUp(title)}
        </MenuItem>
      )
    })
}

interface OpenProps {
  project: ProjectView
  busy: boolean
  onOpen: Open
}

export function OpenButtons({ project, busy, onOpen }: OpenProps) {
  const environments = useEnvironments(project)
  const beside = besideItems(project, onOpen)
  const reason = engineReason(project)
  return (
    <>
      {environments.length < 2 ? (
        <Button
          icon={Plus}
          look="primary"
          busy={busy}
          reason={reason}
          onClick={() => void onOpen(environments[0]?.name)}
        >
          {t.open}
        </Button>
      ) : (
        environments.map(({ name, label }) => (
          <Button key={name} icon={Plus} busy={busy} reason={reason} onClick={() => void onOpen(name)}>
            {t.openFor(label)}
          </Button>
        ))
      )}
      {beside.length > 0 && reason === null && (
        <Menu
          trigger={
            <Button icon={Database} busy={busy}>
              {t.openBeside}
            </Button>
          }
        >
          {beside}
        </Menu>
      )}
    </>
  )
}

export function NewButton({ project, busy, onOpen }: OpenProps) {
  const environments = useEnvironments(project)
  const beside = besideItems(project, onOpen)
  const reason = engineReason(project)
  const first = environments[0]
  if ((environments.length < 2 && beside.length === 0) || reason !== null) {
    return (
      <IconButton
        icon={Plus}
        label={t.open}
        look="secondary"
        size="sm"
        busy={busy}
        reason={reason}
        onClick={() => void onOpen(first?.name)}
      />
    )
  }
  return (
    <Menu trigger={<IconButton icon={Plus} label={t.open} look="secondary" size="sm" busy={busy} />}>
      {environments.length < 2 && (
        <MenuItem icon={Plus} onSelect={() => void onOpen(first?.name)}>
          {first === undefined ? t.open : t.openFor(first.label)}
        </MenuItem>
      )}
      {environments.length > 1 &&
        environments.map(({ name, label }) => (
          <MenuItem key={name} icon={Plus} onSelect={() => void onOpen(name)}>
            {t.openFor(label)}
          </MenuItem>
        ))}
      {beside.length > 0 && <MenuSeparator />}
      {beside}
    </Menu>
  )
}
