import { Database, Plus } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { engineReason } from '../modules/project-actions.ts'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'
import { AddDatabase } from './databases/add-database.tsx'
import { DatabaseCard } from './databases/database-card.tsx'
import { PullSources } from './databases/pull-sources.tsx'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.databases

export function DatabasesPage() {
  const project = useProject()
  useTitle(project.name, texts.project.tabs.databases)
  const [adding, setAdding] = useState(false)
  const may = useMay()
  const databases = Object.entries(project.databases)
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-base font-semibold">{t.title}</h2>
        {may('operate') && (
          <Button icon={Plus} look="primary" reason={engineReason(project)} onClick={() => setAdding(true)}>
            {t.add}
          </Button>
        )}
      </div>
      {databases.length === 0 ? (
        <div className="rounded-lg border border-dashed border-line-strong/60">
          <EmptyState icon={Database} title={t.emptyTitle} detail={t.emptyDetail} />
        </div>
      ) : (
        databases.map(([name, database]) => (
          <DatabaseCard key={name} project={project} name={name} database={database} />
        ))
      )}
      <PullSources project={project} />
      <Dialog open={adding} onClose={() => setAdding(false)} title={t.addTitle} wide>
        <AddDatabase project={project} onClose={() => setAdding(false)} />
      </Dialog>
    </div>
  )
}
