import { useNavigate, useSearch } from '@tanstack/react-router'
import { Segments } from '../components/field.tsx'
import { type NetworkView, networkViews } from '../lib/network-search.ts'
import { texts } from '../texts/index.ts'
import { NetworkDomains } from './network-domains.tsx'
import { NetworkRules } from './network-rules.tsx'
import { NetworkShare } from './network-share.tsx'
import { NetworkTraffic } from './network-traffic.tsx'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.network
const sections = {
  domains: NetworkDomains,
  rules: NetworkRules,
  share: NetworkShare,
  traffic: NetworkTraffic,
} as const satisfies Record<NetworkView, unknown>

/** How a project is reached: its names, what stands in front, showing it to others, and who came. */
export function NetworkPage() {
  const project = useProject()
  const { view = 'domains' } = useSearch({ from: '/app/projects/$project/network' })
  const navigate = useNavigate()
  useTitle(project.name, texts.project.tabs.network, t.views[view])
  const Section = sections[view]
  return (
    <div className="flex w-full max-w-6xl flex-1 flex-col gap-4 px-4 py-5 sm:px-6">
      <h2 className="sr-only">{texts.project.tabs.network}</h2>
      <div className="sm:w-96">
        <Segments
          label={t.viewsLabel}
          wide
          value={view}
          onChange={(next) =>
            void navigate({
              to: '/projects/$project/network',
              params: { project: project.slug },
              search: next === 'domains' ? {} : { view: next },
            })
          }
          options={networkViews.map((value) => ({ value, label: t.views[value] }))}
        />
      </div>
      <Section key={project.id} project={project} />
    </div>
  )
}
