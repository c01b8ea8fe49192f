import type { ProjectView } from '@stackquay/contract'
import type { ReactNode } from 'react'
import { CopyButton } from '../../components/copy-button.tsx'
import { Panel } from '../../components/panel.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { EngineBadge } from '../../modules/engine-badge.tsx'
import { texts } from '../../texts/index.ts'

const t = texts.overview

export function About({ project }: { project: ProjectView }) {
  const facts: readonly (readonly [string, ReactNode])[] = [
    [t.folder, <PathFact key="path" path={project.path} />],
    [t.engine, <EngineBadge key="engine" engine={project.engine} />],
    ...(project.template === null ? [] : ([[t.template, project.template]] as const)),
    ...(project.git === null
      ? []
      : ([
          [
            t.repository,
            `${project.git.url}${project.git.branch === null ? '' : ` (${t.branch(project.git.branch)})`}`,
          ],
        ] as const)),
    [t.created, <TimeAgo key="created" time={project.createdAt} />],
    [t.changed, <TimeAgo key="changed" time={project.updatedAt} />],
    [
      t.id,
      <code key="id" className="text-xs">
        {project.id}
      </code>,
    ],
  ]
  return (
    <Panel title={t.facts}>
      <dl className="grid grid-cols-[5rem_minmax(0,1fr)] gap-x-3 gap-y-1.5">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-ink-3">{name}</dt>
            <dd className="min-w-0 break-words">{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}

function PathFact({ path }: { path: string }) {
  return (
    <span className="flex items-start gap-1">
      <code className="min-w-0 flex-1 break-words">
        {path.split('/').map((part, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the place is the identity
          <span key={index}>
            {index > 0 && '/'}
            <wbr />
            {part}
          </span>
        ))}
      </code>
      <span className="-my-1">
        <CopyButton text={path} label={`${texts.common.copy}: ${t.folder}`} />
      </span>
    </span>
  )
}
