import type { ProjectView, WorkloadStatus } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Boxes, MemoryStick, Play, RotateCw, ScrollText, Square, TriangleAlert } from 'lucide-react'
import { lazy, type ReactNode, Suspense } from 'react'
import { projectOperationsQuery, projectStatsQuery } from '../api/queries.ts'
import { buttonClass, IconButton, iconButtonClass } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ExternalLink } from '../components/external-link.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Panel } from '../components/panel.tsx'
import { Skeleton } from '../components/skeleton.tsx'
import { Cell, Table } from '../components/table.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { Tip } from '../components/tip.tsx'
import { useNow } from '../components/use-now.ts'
import { formatBytes, formatCpu, formatDuration, formatElapsed, formatRelative, secondsSince } from '../lib/format.ts'
import { formatMemoryLimit, memoryLimitOf } from '../lib/limits.ts'
import { CurrentOperation } from '../modules/current-operation.tsx'
import { EngineBadge } from '../modules/engine-badge.tsx'
import { engineSilence } from '../modules/engine-silence.tsx'
import { LogTail, OperationFailure } from '../modules/operation-progress.tsx'
import { engineReason, useLifecycle } from '../modules/project-actions.ts'
import { OperationStateIcon, WorkloadStatePill } from '../modules/state-pill.tsx'
import { useMay } from '../modules/use-may.ts'
import { useStats } from '../modules/use-stats.ts'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'

const StatsChart = lazy(async () => ({ default: (await import('../modules/stats-chart.tsx')).StatsChart }))
const t = texts.overview
/** Round numbers of bytes for the axis: 1, 2, 5, 10 … MB. */
const byteSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1024, 2048, 5120, 10_240, 20_480, 51_200].map(
  (size) => size * 1024 ** 2,
)

export function OverviewPage() {
  const project = useProject()
  return (
    <div className="grid w-full grid-cols-1 gap-4 px-4 py-5 sm:px-6 xl:grid-cols-[minmax(0,1fr)_22rem]">
      <div className="flex min-w-0 flex-col gap-4">
        <CurrentOperation project={project} />
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

/** Why the project is not up, when the last thing that was done to it failed. */
function LastFailure({ project }: { project: ProjectView }) {
  const last = useQuery(projectOperationsQuery(project.id)).data?.[0]
  if (project.operation !== null || last === undefined || last.state !== 'failed') return null
  const failedStep = last.steps.find((step) => step.state === 'failed')
  return (
    <Panel
      title={texts.operations.failedTitle(texts.operations.kinds[last.kind])}
      detail={failedStep && texts.operations.failedAt(failedStep.title)}
      actions={
        <Link to="/operations/$operation" params={{ operation: last.id }} className={buttonClass('secondary', 'sm')}>
          {texts.operations.details}
        </Link>
      }
    >
      <OperationFailure
        operation={last}
        withTail={project.status.workloads.every((workload) => workload.logTail.length === 0)}
      />
    </Panel>
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

function Workloads({ project }: { project: ProjectView }) {
  const { workloads } = project.status
  return (
    <Panel title={t.workloads} flush>
      {workloads.length === 0 ? (
        <EmptyState icon={Boxes} title={t.noWorkloads}>
          <Link to="/projects/$project/runtimes" params={{ project: project.slug }} className={buttonClass()}>
            {t.chooseRuntime}
          </Link>
        </EmptyState>
      ) : (
        <Table
          label={t.workloads}
          head={[
            { title: t.columns.name },
            { title: t.columns.state },
            { title: t.columns.ports },
            { title: t.columns.uptime },
            { title: t.columns.restarts, end: true },
            { title: t.columns.actions, hidden: true },
          ]}
        >
          {workloads.map((workload) => (
            <Workload key={workload.name} project={project} workload={workload} />
          ))}
        </Table>
      )}
    </Panel>
  )
}

function Workload({ project, workload }: { project: ProjectView; workload: WorkloadStatus }) {
  const { busy, run } = useLifecycle(project.id)
  const may = useMay()
  const held = project.operation !== null
  const reason = engineReason(project)
  const up = workload.state !== 'stopped' && workload.state !== 'crashed'
  const ranOut = workload.lastExit?.outOfMemory === true && (!up || workload.restarts > 0)
  const explained = workload.reason !== null || workload.logTail.length > 0 || ranOut
  return (
    <>
      <tr className={explained ? 'border-b-0!' : undefined}>
        <Cell className="min-w-40">
          <span className="block font-medium">{workload.title}</span>
          <span className="block text-sm whitespace-nowrap text-ink-3">
            {workload.name === workload.title ? t.kinds[workload.kind] : workload.name}
            {workload.pid !== null && <span className="numbers"> · {t.pid(workload.pid)}</span>}
          </span>
        </Cell>
        <Cell className="whitespace-nowrap">
          <WorkloadStatePill state={workload.state} />
          {workload.health !== 'none' && up && workload.health !== 'unhealthy' && (
            <span className="mt-0.5 ml-1.5 block text-sm text-ink-3">{texts.states.health[workload.health]}</span>
          )}
        </Cell>
        <Cell>
          <ul className="flex flex-wrap gap-x-2 gap-y-0.5 font-mono text-sm">
            {workload.ports.map((port) => (
              <li key={port.name} className="whitespace-nowrap">
                <span className="text-ink-3">{port.name} </span>
                {port.hostPort}
              </li>
            ))}
            {workload.ports.length === 0 && <li className="text-ink-3">–</li>}
          </ul>
        </Cell>
        <Cell className="numbers whitespace-nowrap">
          {up && workload.state !== 'unknown' && workload.since !== null ? (
            <Uptime since={workload.since} />
          ) : (
            <LastExit workload={workload} />
          )}
        </Cell>
        <Cell end className={cx('numbers', workload.restarts > 0 && 'text-warn')}>
          {workload.restarts}
        </Cell>
        <Cell end className="py-1 whitespace-nowrap">
          <Tip text={t.logsOfWorkload(workload.title)}>
            <Link
              to="/projects/$project/logs"
              params={{ project: project.slug }}
              search={{ workload: workload.name }}
              aria-label={t.logsOfWorkload(workload.title)}
              className={iconButtonClass()}
            >
              <ScrollText aria-hidden className="size-4" />
            </Link>
          </Tip>
          {!may('operate') ? null : up ? (
            <>
              <IconButton
                icon={RotateCw}
                label={t.restartWorkload(workload.title)}
                busy={busy === 'restart'}
                disabled={held}
                reason={reason}
                onClick={() => void run('restart', workload.name)}
              />
              <IconButton
                icon={Square}
                label={t.stopWorkload(workload.title)}
                busy={busy === 'stop'}
                disabled={held}
                reason={reason}
                onClick={() => void run('stop', workload.name)}
              />
            </>
          ) : (
            <IconButton
              icon={Play}
              label={t.startWorkload(workload.title)}
              busy={busy === 'start'}
              disabled={held}
              reason={reason}
              onClick={() => void run('start', workload.name)}
            />
          )}
        </Cell>
      </tr>
      {explained && (
        <tr>
          <td colSpan={6} className="px-4 pb-3">
            {/* On a phone the table scrolls sideways; a sentence stays in sight and breaks. */}
            <div className="max-sm:sticky max-sm:left-4 max-sm:max-w-[calc(100vw-4rem)]">
              {workload.reason !== null && (
                <p className={cx('max-w-prose break-words', workload.state === 'crashed' ? 'text-bad' : 'text-ink-2')}>
                  {workload.reason}
                  {workload.nextRestartAt !== null && <NextRestart at={workload.nextRestartAt} />}
                </p>
              )}
              {ranOut && <OutOfMemory project={project} workload={workload} up={up} />}
              {workload.logTail.length > 0 && (
                <div className="mt-2">
                  <LogTail lines={workload.logTail} />
                </div>
              )}
            </div>
          </td>
        </tr>
      )}
    </>
  )
}

/** What the kernel ended for its memory, how much it had, and where that is changed. */
function OutOfMemory({ project, workload, up }: { project: ProjectView; workload: WorkloadStatus; up: boolean }) {
  const bytes = memoryLimitOf(project.limits, workload.name)
  const limit = bytes === null ? null : formatMemoryLimit(bytes)
  const bare = up ? t.outOfMemoryBareBefore : t.outOfMemoryBare
  return (
    <p className="mt-0.5 flex items-start gap-2">
      <MemoryStick aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <span className="min-w-0">
        {limit === null ? bare : up ? t.outOfMemoryBefore(limit) : t.outOfMemoryWith(limit)}{' '}
        <Link
          to="/projects/$project/settings"
          params={{ project: project.slug }}
          hash="limits"
          className="rounded text-accent-ink underline underline-offset-2"
        >
          {t.toLimits}
        </Link>
      </span>
    </p>
  )
}

function Uptime({ since }: { since: string }) {
  return formatDuration(secondsSince(since, useNow()))
}

function NextRestart({ at }: { at: string }) {
  return <span className="numbers text-ink-3"> · {t.nextRestart(formatRelative(at, useNow()))}</span>
}

function LastExit({ workload }: { workload: WorkloadStatus }) {
  if (workload.lastExit === null) return <span className="text-ink-3">–</span>
  const { code, signal, at, outOfMemory, outOfProcesses } = workload.lastExit
  const how = outOfMemory
    ? t.outOfMemory
    : outOfProcesses
      ? t.outOfProcesses
      : code !== null
        ? t.exitCode(code)
        : signal !== null
          ? t.exitSignal(signal)
          : ''
  return (
    <span className="block min-w-24 text-sm whitespace-normal text-ink-2">
      {t.lastExit}: {how}
      <span className="block text-ink-3">
        <TimeAgo time={at} />
      </span>
    </span>
  )
}

function Usage({ project }: { project: ProjectView }) {
  const answers = engineReason(project) === null
  const running =
    answers && project.status.workloads.some((workload) => workload.pid !== null || workload.state === 'running')
  const history = useStats(project.id, running)
  const disk = useQuery({ ...projectStatsQuery(project.id), enabled: answers }).data?.disk
  return (
    <Panel
      title={t.stats}
      actions={
        disk && (
          <span className="numbers text-sm text-ink-2">
            {t.disk}: {disk.sourceBytes !== null && `${t.diskSource} ${formatBytes(disk.sourceBytes)} · `}
            {t.diskData} {formatBytes(disk.dataBytes)}
          </span>
        )
      }
    >
      {!running ? (
        <p className="text-ink-2">{answers ? t.notRunning : t.notKnown}</p>
      ) : history.points.length === 0 ? (
        <p role="status" className="text-ink-2">
          {t.waitingForStats}
        </p>
      ) : (
        <Suspense fallback={<Skeleton className="h-48" />}>
          <div className="grid grid-cols-1 gap-x-8 gap-y-6 md:grid-cols-2">
            <StatsChart
              title={t.cpu}
              points={history.points}
              numberOf={(workload) => workload.cpu}
              format={formatCpu}
            />
            <StatsChart
              title={t.memory}
              points={history.points}
              numberOf={(workload) => workload.memoryBytes}
              format={formatBytes}
              steps={byteSteps}
            />
          </div>
        </Suspense>
      )}
    </Panel>
  )
}

function LastOperations({ project }: { project: ProjectView }) {
  const query = useQuery(projectOperationsQuery(project.id))
  return (
    <Panel title={t.lastOperations} flush>
      <Loaded query={query} rows={3} height="h-7">
        {(data) =>
          data.length === 0 ? (
            <p className="p-4 text-ink-2">{texts.operations.none}</p>
          ) : (
            <ul className="divide-y divide-line">
              {data.map((operation) => (
                <li key={operation.id}>
                  <Link
                    to="/operations/$operation"
                    params={{ operation: operation.id }}
                    className="flex h-9 items-center gap-2.5 px-4 hover:bg-hover focus-visible:-outline-offset-2"
                  >
                    <OperationStateIcon state={operation.state} />
                    <span className="min-w-0 flex-1 truncate">
                      {texts.operations.kinds[operation.kind]}{' '}
                      <span className="text-ink-3">{texts.operations.by(operation.actor)}</span>
                    </span>
                    {operation.startedAt !== null && operation.finishedAt !== null && (
                      <span className="numbers text-sm text-ink-3">
                        {formatElapsed(Date.parse(operation.finishedAt) - Date.parse(operation.startedAt))}
                      </span>
                    )}
                    <span className="text-sm text-ink-3">
                      <TimeAgo time={operation.createdAt} />
                    </span>
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  )
}

function About({ project }: { project: ProjectView }) {
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
