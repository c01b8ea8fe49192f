import type { ProjectView } from '@stackquay/contract'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { deleteProject, planDelete } from '../../api/changes.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Check } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { toastDone } from '../../components/toast.tsx'
import { PlanView } from '../../modules/plan-view.tsx'
import { engineReason } from '../../modules/project-actions.ts'
import { PurgeCheck } from '../../modules/purge-check.tsx'
import { usePlan } from '../../modules/use-plan.ts'
import { texts } from '../../texts/index.ts'

const t = texts.settings

export function Delete({ project }: { project: ProjectView }) {
  const navigate = useNavigate()
  const [open, setOpen] = useState(false)
  const [data, setData] = useState<'keep' | 'delete'>('keep')
  const [purge, setPurge] = useState(false)
  const choice = { data, purge }
  const live = usePlan(['delete', project.id], open ? choice : null, (chosen, signal) =>
    planDelete(project.id, chosen, signal),
  )
  const running = project.status.workloads
    .filter((workload) => workload.state !== 'stopped')
    .map((workload) => workload.title)
  const databases = Object.keys(project.databases)
  const goes = [
    t.goes.record,
    ...(running.length > 0 ? [t.goes.workloads(running.join(', '))] : []),
    ...(data === 'delete' && databases.length > 0 ? [t.goes.databases(databases.join(', '))] : []),
  ]
  const stays = [
    t.stays.files(project.path),
    ...(data === 'keep' && databases.length > 0 ? [t.stays.databases(databases.join(', '))] : []),
  ]
  return (
    <Panel id="delete" title={t.deleteTitle} detail={t.deleteDetail} className="border-bad/40">
      <Button className="text-bad" reason={engineReason(project)} onClick={() => setOpen(true)}>
        {t.deleteButton}
      </Button>
      <ConfirmDialog
        open={open}
        onClose={() => setOpen(false)}
        title={t.deleteDialog(project.name)}
        word={project.slug}
        submit={data === 'delete' ? t.deleteDataSubmit : t.deleteSubmit}
        onConfirm={async (typed) => {
          await deleteProject(project.id, typed, choice)
          toastDone(t.deleted(project.name))
          await navigate({ to: '/' })
        }}
      >
        <div className="mb-4 flex flex-col gap-3">
          <Facts title={t.willGo} items={goes} className="text-bad" />
          <Facts title={t.willStay} items={stays} className="text-good" />
          <Check
            label={t.deleteData}
            checked={data === 'delete'}
            onChange={(checked) => setData(checked ? 'delete' : 'keep')}
          />
          <PurgeCheck checked={purge} onChange={setPurge} />
          <div className="rounded-lg border border-line bg-sunken p-3">
            <PlanView live={live} idle="" />
          </div>
        </div>
      </ConfirmDialog>
    </Panel>
  )
}

function Facts({ title, items, className }: { title: string; items: readonly string[]; className: string }) {
  return (
    <div>
      <h3 className={`text-sm font-medium ${className}`}>{title}</h3>
      <ul className="list-inside list-disc text-ink-2">
        {items.map((item) => (
          <li key={item} className="break-words">
            {item}
          </li>
        ))}
      </ul>
    </div>
  )
}
