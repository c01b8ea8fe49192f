import type { ProjectView, WorkloadStatus } from '@stackquay/contract'
import { Link } from '@tanstack/react-router'
import { type LucideIcon, MemoryStick, Play, RotateCw, ScrollText, Square } from 'lucide-react'
import { IconButton, iconButtonClass } from '../../components/button.tsx'
import { cx } from '../../components/class-names.ts'
import { ActionsCell, Cell } from '../../components/table.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { Tip } from '../../components/tip.tsx'
import { useNow } from '../../components/use-now.ts'
import { formatDuration, formatRelative, secondsSince } from '../../lib/format.ts'
import { formatMemoryLimit, memoryLimitOf } from '../../lib/limits.ts'
import { LogTail } from '../../modules/operation-progress.tsx'
import { engineReason, useLifecycle } from '../../modules/project-actions.ts'
import { WorkloadStatePill } from '../../modules/state-pill.tsx'
import { useMay } from '../../modules/use-may.ts'
import { texts } from '../../texts/index.ts'

const t = texts.overview

export function WorkloadRow({ project, workload }: { project: ProjectView; workload: WorkloadStatus }) {
  const up = workload.state !== 'stopped' && workload.state !== 'crashed'
  const ranOut = workload.lastExit?.outOfMemory === true && (!up || workload.restarts > 0)
  const explained = workload.reason !== null || workload.logTail.length > 0 || ranOut
  return (
    <>
      <tr className={cx('hover:bg-hover/60', explained && 'border-b-0!')}>
        <Cell className="min-w-28 sm:min-w-32">
          <span className="block font-medium">{workload.title}</span>
          <span className="block text-sm text-ink-3">
            {workload.name === workload.title ? t.kinds[workload.kind] : workload.name}
            {workload.pid !== null && <span className="numbers whitespace-nowrap"> · {t.pid(workload.pid)}</span>}
          </span>
        </Cell>
        <Cell className="whitespace-nowrap max-sm:px-0">
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
        <ActionsCell className="align-middle max-2xl:px-2">
          <WorkloadActs project={project} workload={workload} up={up} />
        </ActionsCell>
      </tr>
      {explained && (
        <tr>
          <Explanation project={project} workload={workload} up={up} ranOut={ranOut} />
        </tr>
      )}
    </>
  )
}

interface PartProps {
  project: ProjectView
  workload: WorkloadStatus
  /** Neither stopped nor crashed. */
  up: boolean
}

function WorkloadActs({ project, workload: { name, title }, up }: PartProps) {
  const { busy, run } = useLifecycle(project.id)
  const may = useMay()
  const button = (act: 'start' | 'stop' | 'restart', icon: LucideIcon, label: string) => (
    <IconButton
      icon={icon}
      label={label}
      busy={busy === act}
      disabled={project.operation !== null}
      reason={engineReason(project)}
      onClick={() => void run(act, name)}
    />
  )
  return (
    <>
      <Tip text={t.logsOfWorkload(title)}>
        <Link
          to="/projects/$project/logs"
          params={{ project: project.slug }}
          search={{ workload: name }}
          aria-label={t.logsOfWorkload(title)}
          className={iconButtonClass()}
        >
          <ScrollText aria-hidden className="size-4" />
        </Link>
      </Tip>
      {!may('operate') ? null : up ? (
        <>
          {button('restart', RotateCw, t.restartWorkload(title))}
          {button('stop', Square, t.stopWorkload(title))}
        </>
      ) : (
        button('start', Play, t.startWorkload(title))
      )}
    </>
  )
}

/** Why it is in this state, with its last words. */
function Explanation({ project, workload, up, ranOut }: PartProps & { ranOut: boolean }) {
  return (
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
  )
}

/** What the kernel ended for its memory, how much it had, and where that is changed. */
function OutOfMemory({ project, workload, up }: PartProps) {
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
