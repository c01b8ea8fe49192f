import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { withCodeFrames } from '../../project-file.ts'
import { readAllInput } from '../../prompt.ts'

interface AddFlags {
  readonly check?: boolean
}

export const defineAdd: Define = (command, context) =>
  command
    .argument('<file>', 'a YAML file; - is standard input')
    .summary('add an addon, or replace the one of that name')
    .description('Add a service to the instance that a YAML file describes, or replace the one of that name.')
    .option('--check', 'read the file alone, and say which projects would be touched')
    .action((file: string, flags: AddFlags) => run(context(), file, flags))

async function run(context: Context, file: string, { check }: AddFlags): Promise<void> {
  const yaml = await textOf(context, file)
  const client = await context.client()
  const query = check === true ? { query: { validate: true } } : {}
  const shownAs = file === '-' ? 'standard input' : file
  const addon = await client
    .call('addAddon', { body: { yaml }, ...query }, { signal: context.signal })
    .catch((error: unknown) => {
      throw withCodeFrames(error, { shownAs, text: yaml }, context.noteStyle.colors)
    })
  const late = addon.usedBy.filter(({ outdated }) => outdated).map(({ slug }) => slug)
  const told = late.length === 0 ? '' : `. Until their next start go on with the earlier one: ${late.join(', ')}`
  noteDone(context, `${addon.name} ${check === true ? 'can be added' : 'is added'}${told}`)
  if (context.json) context.result(addon, () => '')
}

async function textOf({ world }: Context, file: string): Promise<string> {
  if (file === '-') return readAllInput(world)
  return readFile(resolve(world.cwd, file), 'utf8').catch((error: Error) => {
    throw usageError(`${file} cannot be read: ${error.message}`)
  })
}
