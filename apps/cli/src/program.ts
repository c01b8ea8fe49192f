import { Command, Help, type Option } from 'commander'
import { commandEntries } from './commands/index.ts'
import { type Context, createContext, type World } from './context.ts'
import type { CommandEntry, Program } from './define.ts'
import { version } from './version.ts'

export function createProgram(world: World): Program {
  const program = new Command('stq')
  let context: Context | null = null
  const getContext = () => {
    context ??= createContext(world, program.opts())
    return context
  }

  program
    .description('Run development projects with Stackquay: on this machine, or wherever its service runs.')
    .usage('<command> [options]')
    .option('--json', 'print the result as JSON on standard output, and nothing else')
    .option('-q, --quiet', 'print only what is essential: names, URLs')
    .option('--url <url>', 'the service to talk to, instead of STACKQUAY_URL or the one logged in at')
    .version(version, '-V', 'print the version')
    .helpOption('-h, --help', 'help for a command')
    .helpCommand(false)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, subcommandTerm, optionTerm, visibleGlobalOptions })
    .configureOutput({
      writeOut: (text) => void world.stdout.write(text),
      writeErr: (text) => void world.stderr.write(text),
      // Printed with all other errors, in one form.
      outputError: () => {},
      getOutHelpWidth: () => Math.min(world.stdout.columns ?? 100, 120),
    })
    .addHelpText('after', '\nTopics: stq help exit-codes, environment, project-file, scripts')

  const defined = new Set<string>()
  const define = async (entry: CommandEntry, command: Command) => {
    if (defined.has(entry.name)) return
    defined.add(entry.name)
    const module = await entry.load()
    module.define(command, getContext, self)
  }
  for (const entry of commandEntries) {
    program.command(entry.name).summary(entry.summary).description(sentence(entry.summary)).helpGroup(`${entry.group}:`)
  }
  program.hook('preSubcommand', async (_program, command) => {
    const entry = commandEntries.find(({ name }) => name === command.name())
    if (entry !== undefined) await define(entry, command)
  })

  const self: Program = {
    command: program,
    find: async (name) => {
      const entry = commandEntries.find((each) => each.name === name)
      const command = program.commands.find((each) => each.name() === name)
      if (entry === undefined || command === undefined) return null
      await define(entry, command)
      return command
    },
  }
  return self
}

/**
 * A program's options are found wherever they stand, and `--version` after a command is that command's: which version of
 * a database is wanted. So the program itself has the short name alone, and the long one before any command becomes it.
 */
export function programArguments(argv: readonly string[]): readonly string[] {
  let index = 0
  while (argv[index]?.startsWith('-')) {
    if (argv[index] === '--version') return argv.with(index, '-V')
    index += argv[index] === '--url' ? 2 : 1
  }
  return argv.length === 0 ? ['--help'] : argv
}

function optionTerm({ flags }: Option): string {
  return flags === '-V' ? '-V, --version' : flags
}

/** All but the version, which is asked for before any command. */
function visibleGlobalOptions(this: Help, command: Command): Option[] {
  return Help.prototype.visibleGlobalOptions.call(this, command).filter(({ flags }) => flags !== '-V')
}

/** In the list of all commands none of them is loaded, so their arguments come from the table. */
function subcommandTerm(command: Command): string {
  const entry = command.parent?.parent === null ? commandEntries.find(({ name }) => name === command.name()) : undefined
  const args =
    entry?.args ??
    command.registeredArguments
      .map((argument) => argumentTerm(argument.name(), argument.required, argument.variadic))
      .join(' ')
  return `${command.name()} ${args}`.trim()
}

function argumentTerm(name: string, required: boolean, variadic: boolean): string {
  const text = variadic ? `${name}...` : name
  return required ? `<${text}>` : `[${text}]`
}

function sentence(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`
}
