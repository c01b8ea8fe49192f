import type { ProjectView } from '@stackquay/contract'
import { TriangleAlert } from 'lucide-react'
import { CopyButton } from '../components/copy-button.tsx'
import { ExternalLink } from '../components/external-link.tsx'
import { Panel } from '../components/panel.tsx'
import { CurrentOperation } from '../modules/current-operation.tsx'
import { engineSilence } from '../modules/engine-silence.tsx'
import { NotAppliedActs, notApplied } from '../modules/not-applied.tsx'
import { AsleepNote } from '../modules/sleep-panel.tsx'
import { texts } from '../texts/index.ts'
import { About } from './overview/about.tsx'
import { LastFailure, LastOperations } from './overview/last-operations.tsx'
import { Usage } from './overview/usage.tsx'
import { Workloads } from './overview/workloads.tsx'
import { useProject } from './use-project.ts'

const t = texts.overview

export function OverviewPage() {
  const project = useProject()
  return (
    <div className="grid w-full grid-cols-1 gap-4 px-4 py-5 sm:px-6 xl:grid-cols-[minmax(0,1fr)_17rem] 2xl:grid-cols-[minmax(0,1fr)_22rem]">
      <div className="flex min-w-0 flex-col gap-4">
        <CurrentOperation project={project} />
        <AsleepNote project={project} />
        <LastFailure project={project} />
        <Warnings project={project} />
        <Workloads project={project} />
        <Usage project={project} />
      </div>
      <div className="flex min-w-0 flex-col gap-4">
        <Urls project={project} />
        <LastOperations project={project} />
        <About project={project} />
      </div>
    </div>
  )
}

function Warnings({ project }: { project: ProjectView }) {
  // That the engine does not answer stands above all pages of the project.
  const warnings = project.status.warnings.filter((warning) => warning.code !== engineSilence)
  if (warnings.length === 0) return null
  return (
    <section aria-label={t.warnings} className="flex flex-col gap-2">
      {warnings.map((warning) => (
        <div
          key={`${warning.code}${warning.detail}`}
          className="flex gap-2.5 rounded-lg border border-warn/30 bg-warn-soft px-3 py-2.5"
        >
          <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
          <div className="min-w-0">
            <p className="font-medium break-words">{warning.detail}</p>
            <p className="break-words text-ink-2">{warning.hint}</p>
            {warning.code === notApplied && <NotAppliedActs project={project} />}
          </div>
        </div>
      ))}
    </section>
  )
}

function Urls({ project }: { project: ProjectView }) {
  const urls = [...new Set([project.url, ...project.urls].filter((url) => url !== ''))]
  return (
    <Panel title={t.urls}>
      {urls.length === 0 ? (
        <p className="text-ink-2">{t.noUrl}</p>
      ) : (
        <ul className="flex flex-col gap-1">
          {urls.map((url) => (
            <li key={url} className="flex items-center justify-between gap-2">
              <ExternalLink href={url} className="font-mono text-sm">
                {url}
              </ExternalLink>
              <CopyButton text={url} label={`${texts.project.copyUrl}: ${url}`} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
