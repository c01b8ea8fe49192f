import type { Command } from 'commander'
import { changeProject, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { wholeNumber } from '../../options.ts'
import { addWorkOptions, commandBehind, type WorkFlags, workSettings } from '../../work/work-options.ts'

interface SetFlags extends WorkFlags {
  readonly count?: string
}

export const defineSet: Define = (command, context) => {
  addWorkOptions(command)
    .summary('add a worker, or change it')
    .description('Add a worker, or change it. What is not named stays as it is.')
    .usage('[options] <project> <name> [-- <command>]')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the worker')
    .argument('[words...]')
    .option('--count <number>', 'how many of it run, at most 20 (default: 1)')
    .addHelpText(
      'after',
      `
No shell reads the command: for one, say: stq worker set shop queue -- sh -c 'exec ./work'

  stq worker set shop queue --count 2 -- php artisan queue:work
  stq worker set shop queue --count 5`,
    )
    .action((project: string, name: string, _words: string[], flags: SetFlags) =>
      set(context(), command, project, name, flags),
    )
}

async function set(context: Context, command: Command, id: string, name: string, flags: SetFlags): Promise<void> {
  const { before, words } = commandBehind(command)
  if (before.length > 2)
    throw usageError(
      `"${before[2]}" is not expected.`,
      'The command stands after two dashes: -- php artisan queue:work',
    )
  const count = flags.count === undefined ? {} : { count: wholeNumber(flags.count, '--count', 1, 20) }
  const body = { workers: { [name]: { ...words, ...count, ...workSettings(flags) } } }
  const project = await changeProject(context, 'updateProject', { params: { id }, body }, flags)
  if (project === null) return
  noteDone(context, `The worker ${name} is set`)
  if (context.json) context.result({ project: project.slug, worker: name, settings: project.workers?.[name] }, () => '')
}
