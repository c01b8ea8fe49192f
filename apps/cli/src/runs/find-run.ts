import type { Client } from '@stackquay/client'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { CliError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { projectRef } from '../find-project.ts'

export interface OneRunFlags {
  readonly project?: string
}

export function addRunArguments(command: Command): Command {
  return command
    .argument('[run]', 'run_…; without it the newest')
    .option('-p, --project <project>', 'whose run it is; without it the project of this folder')
}

/** The run that is meant, and its project. */
export async function findRun(context: Context, client: Client, run: string | undefined, flags: OneRunFlags) {
  const id = await projectRef(context, flags.project)
  if (run !== undefined) return { id, run }
  const { items } = await client.call('listRuns', { params: { id }, query: { limit: 1 } }, { signal: context.signal })
  if (items[0] !== undefined) return { id, run: items[0].id }
  throw new CliError(`${id} has no runs yet.`, {
    exitCode: exitCodes.notFound,
    hint: `See: stq run ${id} --list`,
  })
}
