import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Blocks, Plus } from 'lucide-react'
import { useState } from 'react'
import { extrasQuery, servicesQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { Panel } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { KeptDataPanel } from '../modules/kept-data.tsx'
import { Monogram } from '../modules/monogram.tsx'
import { engineReason } from '../modules/project-actions.ts'
import { ServiceCard } from '../modules/service-card.tsx'
import { ServiceForm } from '../modules/service-form.tsx'
import { isEnabled, type ServiceKind, serviceSettings, settingsOf } from '../modules/service-kind.ts'
import { Unavailable } from '../modules/unavailable.tsx'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.services

export function ServicesPage() {
  const project = useProject()
  useTitle(project.name, texts.project.tabs.services)
  const services = useQuery(servicesQuery(project.engine))
  const extras = useQuery(extrasQuery(project.id))
  // An engine that does not answer cannot say what is kept; the services are known without it.
  const kept = extras.data?.keptData ?? (extras.isError && engineReason(project) !== null ? [] : undefined)
  if (services.data !== undefined && kept !== undefined) {
    const kinds = services.data.items.filter((item) => item.kind === 'service')
    return <Services project={project} kinds={kinds} kept={kept} />
  }
  if (services.isError || extras.isError) {
    return (
      <ErrorState
        error={services.error ?? extras.error}
        onRetry={() => {
          void services.refetch()
          void extras.refetch()
        }}
      />
    )
  }
  return <SkeletonList rows={4} height="h-16" />
}

function Services({
  project,
  kinds,
  kept,
}: {
  project: ProjectView
  kinds: readonly ServiceKind[]
  kept: Parameters<typeof KeptDataPanel>[0]['kept']
}) {
  // A dialog that slides away still shows what it was about.
  const [shaping, setShaping] = useState<ServiceKind | null>(null)
  const [open, setOpen] = useState(false)
  const shape = (kind: ServiceKind) => {
    setShaping(kind)
    setOpen(true)
  }
  const used = kinds.filter((kind) => isEnabled(project, kind))
  const others = kinds.filter((kind) => !isEnabled(project, kind) && !kept.some((data) => data.kind === kind.name))
  const offered = others.filter((kind) => kind.available || canBeElsewhere(kind))
  const missing = kinds.filter((kind) => !kind.available && !isEnabled(project, kind))
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <div>
        <h2 className="text-base font-semibold">{t.title}</h2>
        <p className="text-sm text-ink-2">{t.detail}</p>
      </div>
      {used.length === 0 ? (
        <div className="rounded-lg border border-dashed border-line-strong/60">
          <EmptyState icon={Blocks} title={t.none} detail={t.noneDetail} />
        </div>
      ) : (
        used.map((kind) => <ServiceCard key={kind.name} project={project} kind={kind} onChange={() => shape(kind)} />)
      )}
      {kept.length > 0 && <KeptDataPanel project={project} kinds={kinds} kept={kept} onEnable={shape} />}
      {offered.length > 0 && (
        <Panel title={t.available} flush>
          <ul className="divide-y divide-line">
            {offered.map((kind) => (
              <Offered key={kind.name} project={project} kind={kind} onAdd={() => shape(kind)} />
            ))}
          </ul>
        </Panel>
      )}
      {missing.length > 0 && (
        <details className="rounded-lg border border-line bg-surface" open={missing.length <= 4}>
          <summary className="rounded-lg px-4 py-3 text-ink-2">{texts.create.showUnavailable(missing.length)}</summary>
          <ul className="grid grid-cols-1 gap-4 px-4 pb-4 md:grid-cols-2">
            {missing.map((kind) => (
              <li key={kind.name} className="min-w-0">
                <h3 className="mb-1 font-medium">{kind.label}</h3>
                <Unavailable label={kind.label} reason={kind.reason} install={kind.install} />
              </li>
            ))}
          </ul>
        </details>
      )}
      <Dialog
        open={open}
        onClose={() => setOpen(false)}
        title={shaping === null ? '' : titleOf(project, shaping)}
        detail={shaping?.summary}
        wide
      >
        {shaping !== null && <ServiceForm project={project} kind={shaping} onClose={() => setOpen(false)} />}
      </Dialog>
    </div>
  )
}

function Offered({ project, kind, onAdd }: { project: ProjectView; kind: ServiceKind; onAdd: () => void }) {
  const may = useMay()
  const known = serviceSettings(project, kind) !== null
  return (
    <li className="flex items-center gap-3 px-4 py-2.5">
      <Monogram label={kind.label} />
      <div className="min-w-0 flex-1">
        <h3 className="font-medium">{kind.label}</h3>
        <p className="text-sm text-ink-3">{kind.available ? kind.summary : t.elsewhereOnly}</p>
      </div>
      {may('operate') && (
        <Button
          icon={Plus}
          aria-label={known ? t.enableOne(kind.label) : t.addOne(kind.label)}
          reason={engineReason(project)}
          onClick={onAdd}
        >
          {known ? t.enableAgain : t.add}
        </Button>
      )}
    </li>
  )
}

function titleOf(project: ProjectView, kind: ServiceKind): string {
  if (isEnabled(project, kind)) return t.changeOne(kind.label)
  return serviceSettings(project, kind) === null ? t.addOne(kind.label) : t.enableTitle(kind.label)
}

/** Whether its settings can name a server that runs elsewhere: then no program is needed here. */
function canBeElsewhere(kind: ServiceKind): boolean {
  return settingsOf(kind).some((field) => field.key === 'external' && field.kind === 'group')
}
