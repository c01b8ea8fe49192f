import type { ImageBuildView, ProjectView, WorkloadImages } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ArrowDownToLine, History, Pin } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { chooseImage, planImage } from '../api/changes.ts'
import { imagesQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { Facts } from '../components/facts.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Panel } from '../components/panel.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { abilitiesOf } from '../lib/engines.ts'
import { shortBuild } from '../lib/images.ts'
import { texts } from '../texts/index.ts'
import { PlannedConfirm } from './planned-confirm.tsx'
import { actsOf } from './project-actions.ts'
import { useMay } from './use-may.ts'

const t = texts.images
interface Asked {
  readonly image: WorkloadImages
  readonly use: 'previous' | 'latest'
}

/** Which builds the workloads run from, and the two ways to another one. */
export function ImagesPanel({ project }: { project: ProjectView }) {
  const { images } = abilitiesOf(project.engine)
  const query = useQuery({ ...imagesQuery(project.id), enabled: images })
  // A dialog that slides away still shows what it was about.
  const [asked, setAsked] = useState<Asked | null>(null)
  const [open, setOpen] = useState(false)
  const navigate = useNavigate()
  if (!images) return null
  return (
    <Panel id="images" title={t.title} detail={t.detail} flush>
      <Loaded query={query} rows={2} height="h-16">
        {(data) =>
          data.length === 0 ? (
            <p className="p-4 text-ink-2">{t.none}</p>
          ) : (
            <ul className="divide-y divide-line">
              {data.map((image) => (
                <Row
                  key={image.workload}
                  image={image}
                  project={project}
                  onAsk={(use) => {
                    setAsked({ image, use })
                    setOpen(true)
                  }}
                />
              ))}
            </ul>
          )
        }
      </Loaded>
      {asked !== null && (
        <PlannedConfirm
          open={open}
          onClose={() => setOpen(false)}
          title={(asked.use === 'previous' ? t.previousTitle : t.latestTitle)(asked.image.title)}
          detail={
            asked.use === 'previous' && asked.image.previous !== null
              ? t.previousDetail(shortBuild(asked.image.previous), asked.image.reference)
              : t.latestDetail(asked.image.reference, asked.image.current !== null)
          }
          look="primary"
          submit={asked.use === 'previous' ? t.toPrevious : t.toLatest}
          name={['image', project.id, asked.image.workload, asked.use]}
          ask={(signal) => planImage(project.id, { workload: asked.image.workload, use: asked.use }, signal)}
          onConfirm={async () => {
            const { workload } = asked.image
            const operation = await chooseImage(project.id, { workload, use: asked.use })
            await navigate({ to: '/operations/$operation', params: { operation: operation.id } })
          }}
        />
      )}
    </Panel>
  )
}

function Row({
  image,
  project,
  onAsk,
}: {
  image: WorkloadImages
  project: ProjectView
  onAsk: (use: Asked['use']) => void
}) {
  const may = useMay()
  const { free, reason } = actsOf(project)
  const noPrevious = image.previous === null ? t.noPreviousYet : null
  return (
    <li className="flex flex-col gap-3 px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h3 className="font-medium">{image.title}</h3>
        <code className="min-w-0 text-sm break-all text-ink-2">{image.reference}</code>
        {image.pinned && (
          <span className="inline-flex h-5 items-center gap-1 rounded-full bg-accent-soft px-2 text-xs text-accent-ink">
            <Pin aria-hidden className="size-3" />
            {t.pinned}
          </span>
        )}
      </div>
      <Facts
        items={[
          [t.build, image.current === null ? t.notYet : <Build key="build" build={image.current} since={t.since} />],
          [
            t.previous,
            image.previous === null ? t.noPrevious : <Build key="old" build={image.previous} since={t.lastUsed} />,
          ],
        ]}
      />
      {may('operate') && (
        <div className="flex flex-wrap gap-2">
          <Button
            size="sm"
            icon={History}
            aria-label={t.toPreviousOf(image.title)}
            disabled={!free}
            reason={reason ?? noPrevious}
            onClick={() => onAsk('previous')}
          >
            {t.toPrevious}
          </Button>
          <Button
            size="sm"
            icon={ArrowDownToLine}
            aria-label={t.toLatestOf(image.title)}
            disabled={!free}
            reason={reason}
            onClick={() => onAsk('latest')}
          >
            {t.toLatest}
          </Button>
        </div>
      )}
    </li>
  )
}

function Build({ build, since }: { build: ImageBuildView; since: string }): ReactNode {
  return (
    <>
      <code title={build.digest ?? build.id}>{shortBuild(build)}</code>{' '}
      <span className="text-ink-3">
        · {since} <TimeAgo time={build.since} />
      </span>
    </>
  )
}
