import type { ProjectSummary } from '@stackquay/contract'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { allProjects } from '../find-project.ts'
import { plainText } from '../output/plain-text.ts'
import { stateCell } from '../output/state.ts'
import { table } from '../output/table.ts'
import { ago } from '../output/time.ts'

interface ListFlags {
  readonly state?: string
}

export const define: Define = (command, context) =>
  command
    .option('--state <state>', 'only projects in this state: running, stopped, failed …')
    .action((flags: ListFlags) => run(context(), flags))

async function run(context: Context, flags: ListFlags): Promise<void> {
  const client = await context.client()
  const all = await allProjects(client, context.signal)
  const items = flags.state === undefined ? all : all.filter(({ status }) => status.state === flags.state)
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ slug }) => slug).join('\n')
    if (items.length === 0)
      return all.length === 0
        ? 'No projects yet. Create one with "stq create", or "stq up" in its folder.'
        : `None is ${flags.state}.`
    return table(
      ['PROJECT', 'STATE', 'SINCE', 'ENGINE', 'URL'],
      items.map((project) => row(project, context)),
      context.style,
    )
  })
}

function row({ slug, status, engine, url }: ProjectSummary, { style, world }: Context) {
  return [
    slug,
    stateCell(status.state, style.colors),
    ago(status.since, world.now()),
    plainText(engine),
    plainText(url),
  ]
}
