import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { engineOf, type OfferedService, type OfferedType } from '../offered.ts'
import { missing, offeredVersions } from '../output/offered-text.ts'
import { plainText, wrapped } from '../output/plain-text.ts'
import { fields } from '../output/table.ts'
import { settingsOf } from './settings.ts'
import { settingsText } from './settings-text.ts'

/** All that the service says about one of its kinds. */
export function kindText(kind: OfferedType, context: Context): string {
  const { colors } = context.style
  const head = `${colors.bold(plainText(kind.label))} (${plainText(kind.name)})`
  const summary = wrapped(plainText(kind.summary), Math.min(context.style.columns ?? 100, 120)).join('\n')
  const facts = fields(factsOf(kind), context.style)
  const settings = settingsText(settingsOf(kind.settingsSchema), context)
  return [`${head}\n${summary}`, facts, `${colors.bold('Settings')}\n${settings}`].join('\n\n')
}

function factsOf(kind: OfferedType): [string, string][] {
  const rows: [string, string][] = [
    ['Versions', kind.available ? offeredVersions(kind) : missing(kind.reason, kind.install)],
  ]
  if ('presets' in kind && kind.presets.length > 0)
    rows.push([
      'Presets',
      kind.presets
        .map(({ name, port }) => `${name} (${port})`)
        .map(plainText)
        .join(', '),
    ])
  if (!('injects' in kind)) return rows
  if (kind.aliases.length > 0) rows.push(['Also called', kind.aliases.map(plainText).join(', ')])
  if (kind.ports.length > 0)
    rows.push(['Ports', kind.ports.map(({ name, port }) => `${plainText(name)} ${port}`).join(', ')])
  rows.push([
    'Reachable',
    kind.alwaysPublished ? 'always published' : 'for the project alone, until --expose publishes its port',
  ])
  if (kind.injects.length > 0) rows.push(['Variables', kind.injects.map(plainText).join(', ')])
  rows.push(['Data', dataText(kind)])
  return rows
}

function dataText({ kind, keepsData }: OfferedService): string {
  if (!keepsData) return 'none'
  return kind === 'database' ? 'kept until it is dropped: stq db delete' : 'kept when it is disabled'
}

/**
 * `--help` of a command that changes settings also tells the settings of the kind that was named. Where the service does
 * not answer or no login is stored, the help is there without them.
 */
export function helpWithSettings(
  parent: Command,
  context: () => Context,
  kinds: (context: Context, engine: string | null) => Promise<readonly OfferedType[]>,
): void {
  parent.hook('preSubcommand', async (command, subcommand) => {
    if (!command.args.some((word) => word === '--help' || word === '-h')) return
    const named = command.args.filter((word) => !word.startsWith('-')).slice(1)
    if (named.length === 0) return
    // With two words, the first is the project.
    const engine = named.length < 2 ? null : await engineOf(context(), named[0]!).catch(() => null)
    const found = await kinds(context(), engine).then(
      (items) => items.find(({ name }) => named.includes(name)),
      () => undefined,
    )
    if (found !== undefined) subcommand.addHelpText('after', () => `\n${kindText(found, context())}`)
  })
}

/** `help <kind>`: what it is, where it can be had, what can be set. A word that is a command of `parent` gives its help. */
export function defineKindHelp(
  parent: Command,
  what: string,
  context: () => Context,
  find: (context: Context, name: string) => Promise<OfferedType>,
): void {
  parent
    .command('help')
    .summary(`what a ${what} is, and what it can be set to`)
    .description(`Show what a ${what} is, which versions are offered here, and what it can be set to.`)
    .argument(`[${what}]`, `see: stq ${what}s`)
    .action(async (name: string | undefined) => {
      if (name === undefined) return parent.outputHelp()
      const command = parent.commands.find((each) => each.name() === name)
      if (command !== undefined) return command.outputHelp()
      const kind = await find(context(), name)
      context().result(kind, () => kindText(kind, context()))
    })
}
