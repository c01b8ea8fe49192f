import type { Context } from '../../context.ts'
import { finishProject, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions } from '../../options.ts'
import type { Define } from '../index.ts'

interface CreateFlags extends WaitFlags {
  readonly type: string
  readonly engineVersion?: string
  readonly expose?: boolean
}

export const defineCreate: Define = (command, context) =>
  addWaitOptions(command)
    .summary('add a database')
    .description('Add a database to a project.')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'lower-case letters, digits and underscores')
    .option('--type <type>', 'postgresql, mariadb …', 'postgresql')
    // "--version" is the version of stq, wherever it stands.
    .option('--engine-version <version>', 'of the database software')
    .option('--expose', 'make its port reachable for programs on the service’s machine')
    .action((project: string, name: string, flags: CreateFlags) => run(context(), project, name, flags))

async function run(context: Context, id: string, name: string, flags: CreateFlags): Promise<void> {
  const client = await context.client()
  const body = {
    name,
    type: flags.type,
    ...(flags.engineVersion === undefined ? {} : { version: flags.engineVersion }),
    ...(flags.expose === true ? { exposePort: true } : {}),
  }
  const project = await client.call('createDatabase', { params: { id }, body }, { signal: context.signal })
  await finishProject(context, project, flags)
  const sign = context.noteStyle.colors.green('✔')
  context.note(`${sign} ${name} is created. How to connect: stq db credentials ${project.slug} ${name}`)
  if (context.json) context.result({ project: project.slug, name, ...project.databases[name] }, () => '')
}
