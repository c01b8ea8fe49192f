import type { CallResult, ProjectView } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { size } from '../../output/size.ts'
import { stateCell } from '../../output/state.ts'
import { table } from '../../output/table.ts'
import { settingsIn } from '../../settings/change-settings.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list the services of a project')
    .description('List the services of a project, also those that are off. What can be added: stq services')
    .argument('[project]', projectArgument)
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const { signal } = context
  const [project, extras] = await Promise.all([
    client.call('getProject', { params: { id } }, { signal }) as Promise<ProjectView>,
    client.call('listExtras', { params: { id } }, { signal }),
  ])
  const items = extras.services.map((service) => itemOf(service, project, extras))
  context.result({ items }, () => {
    if (context.quiet)
      return items
        .filter(({ enabled }) => enabled)
        .map(({ name }) => name)
        .join('\n')
    if (items.length === 0) return 'No services. Add one with: stq service enable <project> <service>'
    return table(
      ['SERVICE', 'STATE', 'VERSION', 'PORT', 'KEPT DATA'],
      items.map((item) => row(item, context)),
      context.style,
    )
  })
}

type Extras = CallResult<'listExtras'>

function itemOf({ kind, enabled, version }: Extras['services'][number], project: ProjectView, extras: Extras) {
  const workload = project.status.workloads.find(({ name }) => name === kind)
  return {
    name: kind,
    enabled,
    version,
    /** Null when nothing of it runs here: it is off, or runs elsewhere. */
    state: enabled ? (workload?.state ?? null) : null,
    ports: enabled ? (workload?.ports ?? []) : [],
    settings: settingsIn(project, kind),
    keptData: extras.keptData.find((data) => data.kind === kind) ?? null,
  }
}

function row(item: ReturnType<typeof itemOf>, { style }: Context) {
  const { dim } = style.colors
  const state =
    item.state !== null
      ? stateCell(item.state, style.colors)
      : { text: item.enabled ? '· elsewhere' : '○ off', paint: dim }
  return [
    plainText(item.name),
    state,
    plainText(item.version),
    item.ports.map(({ hostPort }) => String(hostPort)).join(', ') || '-',
    item.keptData === null ? '' : { text: size(item.keptData.sizeBytes), paint: dim },
  ]
}
