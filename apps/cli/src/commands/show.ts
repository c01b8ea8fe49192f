import type { ProjectView, WorkloadStatus } from '@stackquay/contract'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { projectRef } from '../find-project.ts'
import { projectArgument } from '../options.ts'
import { logText, plainText } from '../output/plain-text.ts'
import { sleepText } from '../output/sleep-text.ts'
import { stateCell, stateText } from '../output/state.ts'
import { fields, table } from '../output/table.ts'
import { ago } from '../output/time.ts'

export const define: Define = (command, context) =>
  command.argument('[project]', projectArgument).action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const project = await client.call('getProject', { params: { id } }, { signal: context.signal })
  context.result(project, () => (context.quiet ? project.status.state : projectText(project as ProjectView, context)))
}

function projectText(project: ProjectView, context: Context): string {
  const { colors } = context.style
  const now = context.world.now()
  const { status } = project
  const rows: [string, string][] = [
    ['Name', plainText(project.name)],
    ['State', `${stateText(status.state, colors)} ${colors.dim(`since ${ago(status.since, now)}`)}`],
    ['URL', [project.url, ...project.urls.filter((url) => url !== project.url)].map(plainText).join('  ')],
    ['Folder', plainText(project.path)],
    ['Engine', plainText(project.engine)],
  ]
  if (project.git !== null)
    rows.push(['Git', plainText(`${project.git.url}${project.git.branch === null ? '' : ` (${project.git.branch})`}`)])
  if (status.asleep !== null)
    rows.push([
      'Asleep',
      `${asleepBecause[status.asleep.because]}; a request wakes it${wakesAt(status.asleep.wakesAt)}`,
    ])
  if (project.sleep !== null) rows.push(['Sleep', sleepText(project.sleep)])
  const databases = Object.entries(project.databases).map(([name, { type, version }]) => `${name} (${type} ${version})`)
  if (databases.length > 0) rows.push(['Databases', databases.map(plainText).join(', ')])
  if (project.operation !== null)
    rows.push(['Operation', `${project.operation.kind}, ${project.operation.state} (${project.operation.id})`])

  const parts = [fields(rows, context.style)]
  if (status.workloads.length > 0) parts.push(workloadTable(status.workloads, context))
  for (const workload of status.workloads) {
    if (workload.reason === null) continue
    const tail = workload.logTail.map((line) => colors.dim(`  │ ${logText(line, colors.isColorSupported)}`))
    parts.push(
      [`${colors.yellow('!')} ${colors.bold(plainText(workload.name))}: ${plainText(workload.reason)}`, ...tail].join(
        '\n',
      ),
    )
  }
  for (const { detail, hint } of status.warnings)
    parts.push(`${colors.yellow('!')} ${plainText(detail)}\n  ${colors.cyan('→')} ${plainText(hint)}`)
  return parts.join('\n\n')
}

const asleepBecause = { unused: 'nobody used it', asked: 'somebody put it to sleep' } as const

function wakesAt(time: string | null): string {
  return time === null ? '' : `, and its hours do at ${time}`
}

function workloadTable(workloads: readonly WorkloadStatus[], { style, world }: Context): string {
  const rows = workloads.map((workload) => [
    plainText(workload.name),
    stateCell(workload.state, style.colors),
    ago(workload.since, world.now()),
    workload.health === 'none' ? '-' : workload.health,
    workload.ports.map(({ hostPort }) => String(hostPort)).join(', ') || '-',
    String(workload.restarts),
    plainText(workload.title),
  ])
  return table(['WORKLOAD', 'STATE', 'SINCE', 'HEALTH', 'PORT', 'RESTARTS', 'WHAT'], rows, style)
}
