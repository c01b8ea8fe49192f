import { readdirSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import type { MetricFamily, MetricSample } from '@stackquay/domain'
import type { Reading } from '@stackquay/engine-api'
import type { ProjectRow } from '@stackquay/store'
import type { KnownBackups } from '../backups/known-backups.ts'
import type { ServingRow } from '../certificates/known.ts'
import type { LogExportState } from '../log-export/keeper.ts'
import type { Model } from '../projects/model.ts'
import type { HistoryState } from './history.ts'
import type { ReadAll } from './readings.ts'

export interface FamiliesDeps {
  readonly model: Pick<Model, 'all' | 'status'>
  readonly backups: Pick<KnownBackups, 'all'>
  readonly certificates: () => readonly ServingRow[]
  readonly home: string
  readonly version: string
  history(): HistoryState
  readonly logExport: () => Pick<LogExportState, 'lines' | 'dropped'>
}

/** All that is exported, in its order. docs/metrics.md lists the same names. */
export async function metricFamilies(read: ReadAll, deps: FamiliesDeps): Promise<readonly MetricFamily[]> {
  const projects = deps.model.all().map(({ row }) => row)
  const slugs = new Map(projects.map(({ id, slug }) => [id, slug]))
  return [
    ...(await serviceFamilies(deps)),
    ...projectFamilies(projects, deps),
    ...workloadFamilies(read.workloads, slugs),
    ...requestFamilies(read.requests ?? [], slugs),
    ...backupFamilies(deps.backups, slugs),
    certificateFamily(deps.certificates()),
    ...logExportFamilies(deps.logExport()),
  ]
}

async function serviceFamilies({ home, version, history }: FamiliesDeps): Promise<readonly MetricFamily[]> {
  const { user, system } = process.cpuUsage()
  const disk = await statfs(home)
  const { bytes, fault } = history()
  return [
    info('stackquay_build', 'Version of the service.', [{ version, node: process.versions.node }]),
    counter('process_cpu_seconds', 'CPU time of the service.', [one((user + system) / 1e6)]),
    gauge('process_resident_memory_bytes', 'Memory of the service.', [one(process.memoryUsage.rss())]),
    gauge('process_start_time_seconds', 'When the service started, since 1970.', [
      one(Math.round(Date.now() / 1000 - process.uptime())),
    ]),
    gauge('process_open_fds', 'Open files of the service.', openFiles()),
    gauge('stackquay_disk_free_bytes', 'Free on the disk of the home.', [one(disk.bavail * disk.bsize)]),
    gauge('stackquay_disk_size_bytes', 'Size of the disk of the home.', [one(disk.blocks * disk.bsize)]),
    gauge('stackquay_metrics_history_bytes', 'Disk used by the history of metrics.', [one(bytes)]),
    gauge('stackquay_metrics_history_writable', '1 while the history of metrics can be written.', [
      one(fault === null ? 1 : 0),
    ]),
  ]
}

function projectFamilies(projects: readonly ProjectRow[], { model }: FamiliesDeps): readonly MetricFamily[] {
  const facts = projects.map(({ id, slug, spec, engine }) => ({ project: slug, id, name: spec.name, engine }))
  const states = projects.map(({ id, slug }) => ({
    labels: { project: slug, state: model.status(id).state },
    value: 1,
  }))
  return [
    info('stackquay_project', 'Projects, with their id, name and engine.', facts),
    gauge('stackquay_project_state', '1 for the state that a project is in; other states have no sample.', states),
  ]
}

function workloadFamilies(readings: readonly Reading[], slugs: ReadonlyMap<string, string>): readonly MetricFamily[] {
  const known = readings.flatMap((reading) => {
    const project = slugs.get(reading.ref.project)
    return project === undefined ? [] : [{ labels: { project, workload: reading.ref.workload }, reading }]
  })
  const of = (numberOf: (reading: Reading) => number | null): readonly MetricSample[] =>
    known.flatMap(({ labels, reading }) => {
      const value = numberOf(reading)
      return value === null ? [] : [{ labels, value }]
    })
  return [
    counter(
      'stackquay_workload_cpu_seconds',
      'CPU time of the present run of a workload.',
      of((one) => one.cpuSeconds),
    ),
    gauge(
      'stackquay_workload_memory_bytes',
      'Memory of a workload.',
      of((one) => one.memoryBytes),
    ),
    gauge(
      'stackquay_workload_processes',
      'Processes of a workload.',
      of((one) => one.processes),
    ),
    counter(
      'stackquay_workload_disk_read_bytes',
      'Read from disks by a workload.',
      of((one) => one.readBytes),
    ),
    counter(
      'stackquay_workload_disk_written_bytes',
      'Written to disks by a workload.',
      of((one) => one.writtenBytes),
    ),
    counter(
      'stackquay_workload_network_received_bytes',
      'Received by a container.',
      of((one) => one.receivedBytes),
    ),
    counter(
      'stackquay_workload_network_sent_bytes',
      'Sent by a container.',
      of((one) => one.sentBytes),
    ),
  ]
}

function certificateFamily(certificates: readonly ServingRow[]): MetricFamily {
  const samples = certificates.map(({ id, source, names, notAfter }) => ({
    labels: { certificate: id, source, name: names[0] ?? '' },
    value: Date.parse(notAfter) / 1000,
  }))
  return gauge('stackquay_certificate_expiry_seconds', 'When a certificate ends, since 1970.', samples)
}

function logExportFamilies({ lines, dropped }: ReturnType<FamiliesDeps['logExport']>): readonly MetricFamily[] {
  return [
    counter('stackquay_log_export_lines', 'Lines of logs that the receiver took.', [one(lines)]),
    counter('stackquay_log_export_dropped', 'Lines of logs that were given up.', [one(dropped)]),
  ]
}

const classNames = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const

function requestFamilies(
  counts: NonNullable<ReadAll['requests']>,
  slugs: ReadonlyMap<string, string>,
): readonly MetricFamily[] {
  const known = counts.flatMap((one) => {
    const project = slugs.get(one.project)
    return project === undefined ? [] : [{ ...one, project }]
  })
  const byClass = known.flatMap(({ project, classes }) =>
    classNames.map((code, index) => ({ labels: { project, code }, value: classes[index] ?? 0 })),
  )
  const times = known.map(({ project, seconds }) => ({ labels: { project }, value: seconds }))
  const sent = known.map(({ project, bytes }) => ({ labels: { project }, value: bytes }))
  return [
    counter('stackquay_project_requests', 'Requests through the proxy, by class of status.', byClass),
    counter('stackquay_project_request_duration_seconds', 'Time that requests took, in all.', times),
    counter('stackquay_project_response_bytes', 'Bodies of responses.', sent),
  ]
}

function backupFamilies(
  backups: Pick<KnownBackups, 'all'>,
  slugs: ReadonlyMap<string, string>,
): readonly MetricFamily[] {
  const newest = new Map<string, number>()
  const counts = new Map<string, number>()
  for (const { manifest } of backups.all()) {
    const project = slugs.get(manifest.project.id)
    if (project === undefined) continue
    const at = Date.parse(manifest.createdAt) / 1000
    newest.set(project, Math.max(at, newest.get(project) ?? 0))
    counts.set(project, 1 + (counts.get(project) ?? 0))
  }
  const samples = (values: ReadonlyMap<string, number>) =>
    [...values].map(([project, value]) => ({ labels: { project }, value }))
  return [
    gauge(
      'stackquay_backup_last_success_timestamp_seconds',
      'When the newest backup of a project was made, since 1970.',
      samples(newest),
    ),
    gauge('stackquay_backups', 'Backups of a project on this instance.', samples(counts)),
  ]
}

function openFiles(): readonly MetricSample[] {
  try {
    return [one(readdirSync('/proc/self/fd').length)]
  } catch {
    // Systems without /proc do not say.
    return []
  }
}

function one(value: number): MetricSample {
  return { labels: {}, value }
}

function counter(name: string, help: string, samples: readonly MetricSample[]): MetricFamily {
  return { name, type: 'counter', help, samples }
}

function gauge(name: string, help: string, samples: readonly MetricSample[]): MetricFamily {
  return { name, type: 'gauge', help, samples }
}

function info(name: string, help: string, facts: readonly MetricSample['labels'][]): MetricFamily {
  return { name, type: 'info', help, samples: facts.map((labels) => ({ labels, value: 1 })) }
}
