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
import { isEnabled, type ServiceType, serviceSettings, settingsOf } from '../modules/service-type.ts'
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
    const types = services.data.items.filter((item) => item.kind === 'service')
    const pages = new Map(extras.data?.services.map(({ kind, pageUrl }) => [kind, pageUrl]))
    return <Services project={project} types={types} kept={kept} pages={pages} />
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
  types,
  kept,
  pages,
}: {
  project: ProjectView
  types: readonly ServiceType[]
  kept: Parameters<typeof KeptDataPanel>[0]['kept']
  pages: ReadonlyMap<string, string | null>
}) {
  // A dialog that slides away still shows what it was about.
  const [shaping, setShaping] = useState<ServiceType | null>(null)
  const [open, setOpen] = useState(false)
  const shape = (type: ServiceType) => {
    setShaping(type)
    setOpen(true)
  }
  const used = types.filter((type) => isEnabled(project, type))
  const others = types.filter((type) => !isEnabled(project, type) && !kept.some((data) => data.kind === type.name))
  const offered = others.filter((type) => type.available || canBeElsewhere(type))
  const missing = types.filter((type) => !type.available && !isEnabled(project, type))
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
        used.map((type) => (
          <ServiceCard
            key={type.name}
            project={project}
            type={type}
            pageUrl={pages.get(type.name) ?? null}
            onChange={() => shape(type)}
          />
        ))
      )}
      {kept.length > 0 && <KeptDataPanel project={project} types={types} kept={kept} onEnable={shape} />}
      {offered.length > 0 && (
        <Panel title={t.available} flush>
          <ul className="divide-y divide-line">
            {offered.map((type) => (
              <Offered key={type.name} project={project} type={type} onAdd={() => shape(type)} />
            ))}
          </ul>
        </Panel>
      )}
      {missing.length > 0 && (
        <details className="rounded-lg border border-line bg-surface" open={missing.length <= 4}>
          <summary className="rounded-lg px-4 py-3 text-ink-2">{texts.create.showUnavailable(missing.length)}</summary>
          <ul className="grid grid-cols-1 gap-4 px-4 pb-4 md:grid-cols-2">
            {missing.map((type) => (
              <li key={type.name} className="min-w-0">
                <h3 className="mb-1 font-medium">{type.label}</h3>
                <Unavailable label={type.label} reason={type.reason} install={type.install} />
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
        {shaping !== null && <ServiceForm project={project} type={shaping} onClose={() => setOpen(false)} />}
      </Dialog>
    </div>
  )
}

function Offered({ project, type, onAdd }: { project: ProjectView; type: ServiceType; onAdd: () => void }) {
  const may = useMay()
  const known = serviceSettings(project, type) !== null
  return (
    <li className="flex items-center gap-3 px-4 py-2.5">
      <Monogram label={type.label} />
      <div className="min-w-0 flex-1">
        <h3 className="font-medium">{type.label}</h3>
        <p className="text-sm text-ink-3">{type.available ? type.summary : t.elsewhereOnly}</p>
      </div>
      {may('operate') && (
        <Button
          icon={Plus}
          aria-label={known ? t.enableOne(type.label) : t.addOne(type.label)}
          reason={engineReason(project)}
          onClick={onAdd}
        >
          {known ? t.enableAgain : t.add}
        </Button>
      )}
    </li>
  )
}

function titleOf(project: ProjectView, type: ServiceType): string {
  if (isEnabled(project, type)) return t.changeOne(type.label)
  return serviceSettings(project, type) === null ? t.addOne(type.label) : t.enableTitle(type.label)
}

/** Whether its settings can name a server that runs elsewhere: then no program is needed here. */
function canBeElsewhere(type: ServiceType): boolean {
  return settingsOf(type).some((field) => field.key === 'external' && field.kind === 'group')
}
