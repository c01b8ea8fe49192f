import { addChangeOptions, type ChangeFlags, changeProject, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { readBytes } from './bytes.ts'

interface LimitFlags extends ChangeFlags {
  readonly workload?: string
  readonly cpus?: string
  readonly memory?: string
  readonly pids?: string
}

export const defineSet: Define = (command, context) =>
  addChangeOptions(command)
    .summary('change what the workloads of a project may use')
    .description('Change the limits of the workloads of a project. Limits that are not named stay.')
    .argument('<project>', 'id or slug')
    .option('-w, --workload <name>', 'only this workload; where it has no limit of its own, the project’s holds')
    .option('--cpus <number>', 'cores, such as 0.5 or 2; "none" removes the limit')
    .option('--memory <size>', 'such as 512M or 2G; "none" removes the limit')
    .option('--pids <number>', 'processes and threads; "none" removes the limit')
    .addHelpText(
      'after',
      `
  stq limits set shop --cpus 2 --memory 1G
  stq limits set shop --workload node --memory 2G`,
    )
    .action((project: string, flags: LimitFlags) => run(context(), project, flags))

async function run(context: Context, id: string, flags: LimitFlags): Promise<void> {
  const limits = {
    ...limitOf('cpus', flags.cpus, (text) => numberOf(text, '--cpus', /^\d{1,3}(\.\d{1,3})?$/)),
    ...limitOf('memoryBytes', flags.memory, readBytes),
    ...limitOf('pids', flags.pids, (text) => numberOf(text, '--pids', /^\d{1,7}$/)),
  }
  if (Object.keys(limits).length === 0)
    throw usageError('Nothing is to be set.', 'Give --cpus, --memory or --pids: stq limits set --help')
  const body = { limits: flags.workload === undefined ? limits : { workloads: { [flags.workload]: limits } } }
  const project = await changeProject(context, 'updateProject', { params: { id }, body }, flags)
  if (project === null) return
  noteDone(context, 'The limits are set')
  if (context.json) context.result({ project: project.slug, limits: project.limits }, () => '')
}

function limitOf(
  field: string,
  text: string | undefined,
  read: (text: string) => number,
): Record<string, number | null> {
  if (text === undefined) return {}
  return { [field]: text === 'none' ? null : read(text) }
}

function numberOf(text: string, option: string, pattern: RegExp): number {
  if (!pattern.test(text)) throw usageError(`${option} takes a number or "none", and "${text}" is neither.`)
  return Number(text)
}
