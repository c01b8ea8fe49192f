import type { Context } from '../context.ts'
import type { DefineInProgram, Program } from '../define.ts'
import { usageError } from '../errors.ts'
import { topics } from '../help-topics.ts'

export const define: DefineInProgram = (command, context, program) =>
  command
    .argument('[topic...]', `a command, or one of: ${Object.keys(topics).join(', ')}`)
    .action((words: string[]) => run(context(), program, words))

async function run({ world }: Context, program: Program, words: readonly string[]): Promise<void> {
  const [first, ...rest] = words
  if (first === undefined) return void world.stdout.write(program.command.helpInformation())
  const topic = topics[first]
  if (topic !== undefined) return void world.stdout.write(`${topic()}\n`)
  let command = await program.find(first)
  for (const word of rest) command = command?.commands.find((each) => each.name() === word) ?? null
  if (command === null) throw usageError(`There is no help for "${words.join(' ')}".`, 'See: stq help')
  command.outputHelp()
}
