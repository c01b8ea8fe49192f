import type { ProjectView } from '@stackquay/contract'
import { useNavigate } from '@tanstack/react-router'
import { Copy, Ellipsis, type LucideIcon, Moon, Play, RefreshCcwDot, RotateCw, Square, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { planNewerImages, restartWithNewerImages } from '../../api/changes.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { Menu, MenuItem, MenuSeparator } from '../../components/menu.tsx'
import { abilitiesOf } from '../../lib/engines.ts'
import { PlannedConfirm } from '../../modules/planned-confirm.tsx'
import { actsOf, useLifecycle } from '../../modules/project-actions.ts'
import { useMay } from '../../modules/use-may.ts'
import { texts } from '../../texts/index.ts'

const t = texts.project

export function Lifecycle({ project }: { project: ProjectView }) {
  const { up, asleep, free, reason } = actsOf(project)
  const { busy, run } = useLifecycle(project.id)
  const button = (act: 'start' | 'stop' | 'restart', icon: LucideIcon, label = t[act]) => (
    <Button
      icon={icon}
      look={act === 'start' ? 'primary' : 'secondary'}
      busy={busy === act}
      disabled={!free}
      reason={reason}
      onClick={() => void run(act)}
    >
      {label}
    </Button>
  )
  if (!useMay()('operate')) return null
  if (asleep)
    return (
      <>
        {button('start', Play, t.wake)}
        {button('stop', Square)}
      </>
    )
  if (!up) return button('start', Play)
  return (
    <>
      {button('restart', RotateCw)}
      {button('stop', Square)}
    </>
  )
}

export function MoreActions({ project }: { project: ProjectView }) {
  const navigate = useNavigate()
  const may = useMay()
  const { free, up } = actsOf(project)
  const { run } = useLifecycle(project.id)
  const [renewing, setRenewing] = useState(false)
  const canRenew = may('operate') && abilitiesOf(project.engine).images
  const settings = (hash: string) =>
    navigate({ to: '/projects/$project/settings', params: { project: project.slug }, hash })
  return (
    <>
      {may('operate') && (
        <Menu trigger={<IconButton icon={Ellipsis} label={texts.common.moreActions} look="secondary" />}>
          <MenuItem icon={Moon} disabled={!free || !up} onSelect={() => void run('sleep')}>
            {t.sleep}
          </MenuItem>
          {canRenew && (
            <MenuItem icon={RefreshCcwDot} disabled={!free} onSelect={() => setRenewing(true)}>
              {texts.images.restartNewer}
            </MenuItem>
          )}
          {may('admin') && (
            <>
              <MenuItem icon={Copy} onSelect={() => void settings('duplicate')}>
                {t.duplicate}
              </MenuItem>
              <MenuSeparator />
              <MenuItem icon={Trash2} danger onSelect={() => void settings('delete')}>
                {t.delete}
              </MenuItem>
            </>
          )}
        </Menu>
      )}
      <PlannedConfirm
        open={renewing}
        onClose={() => setRenewing(false)}
        title={texts.images.restartNewerTitle(project.name)}
        detail={texts.images.restartNewerDetail}
        look="primary"
        submit={texts.images.restartNewerSubmit}
        name={['newer-images', project.id]}
        ask={(signal) => planNewerImages(project.id, signal)}
        onConfirm={async () => {
          const operation = await restartWithNewerImages(project.id)
          await navigate({ to: '/operations/$operation', params: { operation: operation.id } })
        }}
      />
    </>
  )
}
