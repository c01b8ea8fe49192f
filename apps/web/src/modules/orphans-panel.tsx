import type { Orphan } from '@stackquay/contract'
import { Trash2 } from 'lucide-react'
import { useState } from 'react'
import { deleteOrphan } from '../api/changes.ts'
import { diagnosticsQuery } from '../api/queries.ts'
import { queryClient } from '../api/query-client.ts'
import { Button } from '../components/button.tsx'
import { Choices } from '../components/choices.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { Consequences } from '../components/consequences.tsx'
import { Panel } from '../components/panel.tsx'
import { toastDone } from '../components/toast.tsx'
import { texts } from '../texts/index.ts'

const t = texts.diagnostics

/** What engines hold for projects that are gone, and the way to be rid of it. */
export function OrphansPanel({ orphans }: { orphans: readonly Orphan[] }) {
  // A dialog that slides away still shows what it was about.
  const [chosen, setChosen] = useState<Orphan | null>(null)
  const [open, setOpen] = useState(false)
  return (
    <>
      {orphans.length > 0 && (
        <Panel title={t.orphans} detail={t.orphansDetail} flush>
          <ul className="divide-y divide-line">
            {orphans.map((orphan) => (
              <li key={orphan.id} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2.5">
                <div className="min-w-0 flex-1 basis-56">
                  <h3 className="font-mono text-sm font-medium break-all">{orphan.id}</h3>
                  <Holdings orphan={orphan} />
                </div>
                <Button
                  size="sm"
                  icon={Trash2}
                  aria-label={t.removeOrphanOne(orphan.id)}
                  onClick={() => {
                    setChosen(orphan)
                    setOpen(true)
                  }}
                >
                  {t.removeOrphan}
                </Button>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {chosen !== null && <Removal key={chosen.id} orphan={chosen} open={open} onClose={() => setOpen(false)} />}
    </>
  )
}

function Holdings({ orphan: { workloads, data, asides } }: { orphan: Orphan }) {
  const names = workloads.map(({ name, running }) => (running ? t.orphanRunning(name) : name)).join(', ')
  return (
    <div className="text-sm break-words text-ink-2">
      {names !== '' && <p>{t.orphanWorkloads(names)}</p>}
      {data.length > 0 && <p>{t.orphanData(data.join(', '))}</p>}
      {asides.length > 0 && <p>{t.orphanAsides(asides.join(', '))}</p>}
      {names === '' && data.length + asides.length === 0 && <p>{t.orphanNothing}</p>}
    </div>
  )
}

function Removal({ orphan, open, onClose }: { orphan: Orphan; open: boolean; onClose: () => void }) {
  const [data, setData] = useState<'keep' | 'delete'>('keep')
  const withData = data === 'delete'
  const kept = [...orphan.data, ...orphan.asides].join(', ')
  return (
    <ConfirmDialog
      open={open}
      onClose={onClose}
      title={t.removeOrphanTitle}
      detail={t.removeOrphanDetail(orphan.id)}
      {...(withData ? { word: orphan.id } : {})}
      submit={withData ? t.removeOrphanDataSubmit : t.removeOrphanSubmit}
      onConfirm={async () => {
        await deleteOrphan(orphan.id, data)
        await queryClient.invalidateQueries({ queryKey: diagnosticsQuery.queryKey })
        toastDone(t.orphanRemoved(orphan.id))
      }}
    >
      <Consequences items={consequencesOf(orphan, withData)} />
      {kept !== '' && (
        <div className="mb-4">
          <Choices
            label={t.orphanDataLabel}
            value={data}
            onChange={setData}
            options={[
              { value: 'keep', label: t.orphanDataKeep, help: t.orphanDataKeepHelp(kept) },
              { value: 'delete', label: t.orphanDataDelete, help: t.orphanDataDeleteHelp },
            ]}
          />
        </div>
      )}
    </ConfirmDialog>
  )
}

function consequencesOf({ workloads, data }: Orphan, withData: boolean): readonly string[] {
  const named = (running: boolean) => workloads.filter((one) => one.running === running).map(({ name }) => name)
  const [running, still] = [named(true).join(', '), named(false).join(', ')]
  return [
    ...(running === '' ? [] : [t.orphanGoes.running(running)]),
    ...(still === '' ? [] : [t.orphanGoes.workloads(still)]),
    t.orphanGoes.logs,
    ...(withData ? [t.orphanGoes.data(data.join(', '))] : []),
  ]
}
