import type { ProjectView } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { offeredRuntimes } from '../../offered.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { stateCell } from '../../output/state.ts'
import { table } from '../../output/table.ts'
import { settingsIn } from '../../settings/change-settings.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list the runtimes of a project')
    .description('List the runtimes of a project, also those that are off. What is offered: stq runtimes')
    .argument('[project]', projectArgument)
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const project = (await client.call('getProject', { params: { id } }, { signal: context.signal })) as ProjectView
  const offered = await offeredRuntimes(context, project.engine)
  const items = offered.flatMap(({ name }) => {
    const settings = settingsIn(project, name)
    const state = project.status.workloads.find((workload) => workload.name === name)?.state ?? null
    return settings === null ? [] : [{ name, enabled: settings.enabled === true, state, settings }]
  })
  context.result({ items }, () => {
    if (context.quiet)
      return items
        .filter(({ enabled }) => enabled)
        .map(({ name }) => name)
        .join('\n')
    if (items.length === 0) return 'No runtimes. Add one with: stq runtime set <project> <runtime> --set enabled=true'
    const rows = items.map(({ name, enabled, state, settings }) => [
      plainText(name),
      enabled && state !== null ? stateCell(state, context.style.colors) : offCell(enabled, context),
      ...['version', 'preset', 'mode', 'hostPort'].map((field) => plainText(String(settings[field] ?? '-'))),
    ])
    return table(['RUNTIME', 'STATE', 'VERSION', 'PRESET', 'MODE', 'PORT'], rows, context.style)
  })
}

/** A runtime can be on without a server, for commands alone. */
function offCell(enabled: boolean, { style }: Context) {
  return { text: enabled ? '· no server' : '○ off', paint: style.colors.dim }
}
