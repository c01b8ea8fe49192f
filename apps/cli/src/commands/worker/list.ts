import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'
import { commandLine } from '../../work/command-text.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list workers, and what the dependencies suggest')
    .description('List the workers of a project, and what its dependencies suggest.')
    .argument('[project]', projectArgument)
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const [list, project] = await Promise.all([
    client.call('listWorkers', { params: { id } }, { signal: context.signal }),
    client.call('getProject', { params: { id } }, { signal: context.signal }),
  ])
  const running = (names: readonly string[]) =>
    project.status.workloads.filter(({ name, state }) => names.includes(name) && state === 'running').length
  context.result(list, () => {
    if (context.quiet) return list.items.map(({ name }) => name).join('\n')
    const { colors } = context.style
    const rows = list.items.map(({ name, enabled, count, workloads, command }) => [
      name,
      enabled ? `${running(workloads)} of ${count}` : { text: 'off', paint: colors.dim },
      commandLine(command),
    ])
    const items =
      rows.length === 0
        ? 'No workers. Add one with: stq worker set <project> <name> -- <command>'
        : table(['WORKER', 'RUNNING', 'COMMAND'], rows, context.style)
    const presets = list.presets.map(
      ({ name, label, command }) => `${plainText(label)}: stq worker set ${id} ${name} -- ${commandLine(command)}`,
    )
    return presets.length === 0
      ? items
      : `${items}\n\n${colors.dim('Its dependencies suggest:')}\n${presets.join('\n')}`
  })
}
