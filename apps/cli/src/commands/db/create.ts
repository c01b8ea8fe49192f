import { Option } from 'commander'
import { addChangeOptions, type ChangeFlags, changeProject, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'

interface CreateFlags extends ChangeFlags {
  readonly type: string
  readonly version?: string
  readonly engineVersion?: string
  readonly expose?: boolean
}

export const defineCreate: Define = (command, context) =>
  addChangeOptions(command)
    .summary('add a database')
    .description('Add a database to a project.')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'lower-case letters, digits and underscores, at most 31, a letter first')
    .option('--type <type>', 'see: stq services', 'postgresql')
    .option('--version <version>', 'of the database software')
    .addOption(new Option('--engine-version <version>', 'the former name of --version').hideHelp())
    .option('--expose', 'make its port reachable for programs on the service’s machine')
    .action((project: string, name: string, flags: CreateFlags) => run(context(), project, name, flags))

async function run(context: Context, id: string, name: string, flags: CreateFlags): Promise<void> {
  refuseBadName(name)
  const version = flags.version ?? flags.engineVersion
  const body = {
    name,
    type: flags.type,
    ...(version === undefined ? {} : { version }),
    ...(flags.expose === true ? { exposePort: true } : {}),
  }
  const project = await changeProject(context, 'createDatabase', { params: { id }, body }, flags)
  if (project === null) return
  noteDone(context, `${name} is created. How to connect: stq db credentials ${project.slug} ${name}`)
  if (context.json) context.result({ project: project.slug, name, ...project.databases[name] }, () => '')
}

function refuseBadName(name: string): void {
  if (/^[a-z][a-z0-9_]{0,30}$/.test(name)) return
  const hint = 'Lower-case letters, digits and underscores, at most 31, a letter first.'
  throw usageError(`"${name}" is not a name for a database.`, hint)
}
