import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { RotateCw } from 'lucide-react'
import { trafficQuery } from '../api/network.ts'
import { IconButton } from '../components/button.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { Segments } from '../components/field.tsx'
import { Panel } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { type NetworkSearch, type TrafficRange, trafficRanges } from '../lib/network-search.ts'
import { AccessLog } from '../modules/access-log.tsx'
import { TrafficView } from '../modules/traffic-view.tsx'
import { texts } from '../texts/index.ts'

const t = texts.network.traffic
const ranges = Object.keys(trafficRanges) as TrafficRange[]

/** How much came, how it was answered and how fast; below, request by request. */
export function NetworkTraffic({ project }: { project: ProjectView }) {
  const search = useSearch({ from: '/app/projects/$project/network' })
  const navigate = useNavigate()
  const { range = '1h', status, q } = search
  const query = useQuery(trafficQuery(project.id, range))
  const show = (next: Partial<Record<keyof NetworkSearch, string | undefined>>) =>
    void navigate({
      to: '/projects/$project/network',
      params: { project: project.slug },
      search: defined({ ...search, ...next }),
      replace: true,
    })
  return (
    <>
      <Panel
        title={t.title}
        actions={
          <>
            <Segments
              label={t.range}
              value={range}
              onChange={(next) => show({ range: next === '1h' ? undefined : next })}
              options={ranges.map((value) => ({ value, label: t.ranges[value] }))}
            />
            <IconButton
              icon={RotateCw}
              label={texts.common.refresh}
              busy={query.isFetching}
              onClick={() => void query.refetch()}
            />
          </>
        }
      >
        {query.isPending ? (
          <SkeletonList rows={3} height="h-16" />
        ) : query.data === undefined ? (
          <ErrorState error={query.error} onRetry={() => void query.refetch()} />
        ) : (
          <TrafficView traffic={query.data} range={range} />
        )}
      </Panel>
      <AccessLog project={project.id} filter={{ status, q }} onFilter={show} />
    </>
  )
}

function defined(search: Partial<Record<keyof NetworkSearch, string | undefined>>): NetworkSearch {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined && value !== ''))
}
