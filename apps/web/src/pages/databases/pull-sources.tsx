import type { ProjectView, PullSource } from '@stackquay/contract'
import { useNavigate } from '@tanstack/react-router'
import { CloudDownload } from 'lucide-react'
import { useState } from 'react'
import { planPull, pullProject } from '../../api/snapshots.ts'
import { Button } from '../../components/button.tsx'
import { Check } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { PlannedConfirm } from '../../modules/planned-confirm.tsx'
import { engineReason } from '../../modules/project-actions.ts'
import { useMay } from '../../modules/use-may.ts'
import { texts } from '../../texts/index.ts'

const t = texts.databases.pull

/** Where databases and files of a project can be fetched from; nothing when the settings name no source. */
export function PullSources({ project }: { project: ProjectView }) {
  const sources = Object.entries(project.pull ?? {})
  if (sources.length === 0) return null
  return (
    <Panel>
      <section aria-labelledby="pull-sources" className="flex flex-col gap-3">
        <div>
          <h3 id="pull-sources" className="text-base font-medium">
            {t.title}
          </h3>
          <p className="text-sm text-ink-3">{t.detail}</p>
        </div>
        <ul className="divide-y divide-line">
          {sources.map(([name, source]) => (
            <Source key={name} project={project} name={name} source={source} />
          ))}
        </ul>
      </section>
    </Panel>
  )
}

interface SourceProps {
  project: ProjectView
  name: string
  source: PullSource
}

function Source({ project, name, source }: SourceProps) {
  const may = useMay()
  const [open, setOpen] = useState(false)
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 py-2">
      <div className="min-w-0 flex-1 basis-48">
        <p className="font-mono break-all">{name}</p>
        <p className="text-sm break-all text-ink-3">{source.from}</p>
      </div>
      {may('admin') && (
        <Button
          size="sm"
          icon={CloudDownload}
          aria-label={t.pullOne(name)}
          reason={engineReason(project)}
          onClick={() => setOpen(true)}
        >
          {t.pull}
        </Button>
      )}
      {open && <PullDialog project={project} name={name} source={source} onClose={() => setOpen(false)} />}
    </li>
  )
}

function PullDialog({ project, name, source, onClose }: SourceProps & { onClose: () => void }) {
  const navigate = useNavigate()
  const known = [
    ...Object.keys(source.databases ?? {}).map((database) => ({ id: `database:${database}`, label: database })),
    ...Object.keys(source.files ?? {}).map((path) => ({ id: `files:${path}`, label: path })),
  ]
  const [left, setLeft] = useState<readonly string[]>([])
  const parts = known.map(({ id }) => id).filter((id) => !left.includes(id))
  return (
    <PlannedConfirm
      open
      onClose={onClose}
      title={t.confirmTitle(name)}
      detail={t.confirmDetail}
      word={project.slug}
      submit={t.submit}
      name={['pull', project.id, name, ...parts]}
      ask={(signal) => planPull(project, name, parts, signal)}
      onConfirm={async (typed) => {
        const operation = await pullProject(project, name, parts, typed)
        onClose()
        await navigate({ to: '/operations/$operation', params: { operation: operation.id } })
      }}
    >
      {known.length > 1 && (
        <fieldset className="mb-4 flex flex-col gap-2">
          <legend className="mb-1 text-sm font-medium">{t.parts}</legend>
          {known.map(({ id, label }) => (
            <Check
              key={id}
              label={label}
              checked={parts.includes(id)}
              // One part at least.
              disabled={parts.length === 1 && parts.includes(id)}
              onChange={(checked) => setLeft(checked ? left.filter((one) => one !== id) : [...left, id])}
            />
          ))}
        </fieldset>
      )}
    </PlannedConfirm>
  )
}
