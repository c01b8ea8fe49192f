import type { CallResult, ProjectView } from '@stackquay/contract'
import { Power, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { deleteKeptData, planKeptDataDeletion } from '../api/changes.ts'
import { extrasQuery } from '../api/queries.ts'
import { queryClient } from '../api/query-client.ts'
import { Button } from '../components/button.tsx'
import { Panel } from '../components/panel.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { toastDone } from '../components/toast.tsx'
import { formatBytes } from '../lib/format.ts'
import { texts } from '../texts/index.ts'
import { Monogram } from './monogram.tsx'
import { PlannedConfirm } from './planned-confirm.tsx'
import { engineReason } from './project-actions.ts'
import { PurgeCheck } from './purge-check.tsx'
import type { ServiceType } from './service-type.ts'
import { useMay } from './use-may.ts'

const t = texts.services
type Kept = CallResult<'listExtras'>['keptData'][number]

interface KeptDataProps {
  project: ProjectView
  types: readonly ServiceType[]
  kept: readonly Kept[]
  onEnable: (type: ServiceType) => void
}

/** What disabled services left behind, with the two ways on: use it again, or let it go. */
export function KeptDataPanel({ project, types, kept, onEnable }: KeptDataProps) {
  const may = useMay()
  const reason = engineReason(project)
  const [deleting, setDeleting] = useState<Kept | null>(null)
  const [purge, setPurge] = useState(false)
  const typeOf = (data: Kept) => types.find((type) => type.name === data.kind)
  const labelOf = (data: Kept) => typeOf(data)?.label ?? data.kind
  return (
    <Panel title={t.kept} detail={t.keptDetail} flush>
      <ul className="divide-y divide-line">
        {kept.map((data) => {
          const type = typeOf(data)
          return (
            <li key={data.kind} className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2.5">
              <Monogram label={labelOf(data)} />
              <div className="min-w-0 flex-1 basis-40">
                <h3 className="font-medium">{labelOf(data)}</h3>
                <p className="numbers text-sm text-ink-3">
                  {data.version !== null && `${t.version(data.version)} · `}
                  {formatBytes(data.sizeBytes)}
                  {data.keptAt !== null && (
                    <>
                      {` · ${t.keptSince} `}
                      <TimeAgo time={data.keptAt} />
                    </>
                  )}
                </p>
              </div>
              {may('operate') && (
                <div className="flex flex-wrap gap-1.5">
                  {type && (
                    <Button
                      size="sm"
                      icon={Power}
                      aria-label={t.enableOne(type.label)}
                      disabled={!type.available}
                      reason={reason}
                      onClick={() => onEnable(type)}
                    >
                      {t.enableAgain}
                    </Button>
                  )}
                  {may('admin') && (
                    <Button
                      size="sm"
                      icon={Trash2}
                      aria-label={t.deleteKeptOne(labelOf(data))}
                      reason={reason}
                      onClick={() => setDeleting(data)}
                    >
                      {t.deleteKept}
                    </Button>
                  )}
                </div>
              )}
            </li>
          )
        })}
      </ul>
      <PlannedConfirm
        open={deleting !== null}
        onClose={() => setDeleting(null)}
        title={deleting === null ? '' : t.deleteKeptTitle(labelOf(deleting))}
        detail={deleting === null ? '' : t.deleteKeptDetail(formatBytes(deleting.sizeBytes))}
        word={deleting?.kind}
        submit={t.deleteKeptSubmit}
        name={['kept-data', project.id, deleting?.kind ?? '', String(purge)]}
        ask={(signal) => planKeptDataDeletion(project.id, deleting?.kind ?? '', purge, signal)}
        onConfirm={async () => {
          if (deleting === null) return
          await deleteKeptData(project.id, deleting.kind, purge)
          await queryClient.invalidateQueries({ queryKey: extrasQuery(project.id).queryKey })
          toastDone(t.keptDeleted(labelOf(deleting)))
        }}
      >
        <PurgeCheck checked={purge} onChange={setPurge} />
      </PlannedConfirm>
    </Panel>
  )
}
