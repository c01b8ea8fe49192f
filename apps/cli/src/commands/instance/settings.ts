import type { InstanceSetting } from '@stackquay/contract'
import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { CliError, usageError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { nearest } from '../../nearest.ts'
import { plainText } from '../../output/plain-text.ts'
import { fields, table } from '../../output/table.ts'

export const defineSettings: Define = (command, context) => {
  command.summary('list, show, set and unset settings of the instance')
  command
    .command('list', { isDefault: true })
    .summary('list the settings, and where each comes from')
    .description('List the settings of the instance. It takes scope admin.')
    .action(() => list(context()))
  command
    .command('get')
    .summary('show one setting, and what it means')
    .argument('<key>', 'such as trashDays')
    .action((key: string) => get(context(), key))
  command
    .command('set')
    .summary('change a setting')
    .description(
      'Change a setting of the instance. What lets others in, such as allowed roots and listen addresses, takes a password and is ' +
        'changed in the page.',
    )
    .argument('<key>', 'such as trashDays')
    .argument('<values...>', 'the value; of a list, all of its members')
    .addHelpText(
      'after',
      `
  stq instance settings set trashDays 14
  stq instance settings set baseDomain dev.example.org
  stq instance settings set imageMap 'docker.io/*=mirror.test/*' postgres:18=db.test/postgres:18`,
    )
    .action((key: string, values: string[]) => set(context(), key, values))
  command
    .command('unset')
    .summary('return to the default of a setting')
    .argument('<key>', 'such as trashDays')
    .action((key: string) => change(context(), key, () => null))
}

async function list(context: Context): Promise<void> {
  const client = await context.client()
  const settings = await client.call('getSettings', {}, { signal: context.signal })
  context.result(settings, () => {
    if (context.quiet) return settings.items.map(({ key }) => key).join('\n')
    const rows = settings.items.map((item) => [item.key, sourceText(item), plainText(valueText(item.value))])
    return table(['SETTING', 'FROM', 'VALUE'], rows, context.style)
  })
}

async function get(context: Context, key: string): Promise<void> {
  const item = await find(context, key)
  context.result(item, () =>
    context.quiet
      ? valueText(item.value)
      : fields(
          [
            ['value', plainText(valueText(item.value))],
            ['default', plainText(valueText(item.default))],
            ['from', sourceText(item)],
            ['variable', item.variable],
            ['meaning', plainText(item.description)],
            ...(item.choices === null ? [] : [['choices', item.choices.join(', ')] as const]),
            ...(item.ignored === null ? [] : [['not used', plainText(item.ignored)] as const]),
          ],
          context.style,
        ),
  )
}

async function set(context: Context, key: string, values: readonly string[]): Promise<void> {
  await change(context, key, (item) => {
    if (Array.isArray(item.default)) return [...values]
    const [value = '', ...more] = values
    if (more.length > 0) throw usageError(`${item.key} has one value.`, 'Put a value with spaces into quotes.')
    const isNumber = typeof item.default === 'number' && value.trim() !== '' && Number.isFinite(Number(value))
    return isNumber ? Number(value) : value
  })
}

async function change(
  context: Context,
  key: string,
  next: (item: InstanceSetting) => InstanceSetting['value'],
): Promise<void> {
  const item = await find(context, key)
  const client = await context.client()
  const body = { settings: { [item.key]: next(item) } }
  const { items } = await client.call('updateSettings', { body }, { signal: context.signal })
  const changed = items.find((one) => one.key === item.key) ?? item
  noteDone(context, `${changed.key} is ${plainText(valueText(changed.value))}`)
  if (changed.pending) context.note('It takes effect when the service restarts.')
  if (context.json) context.result(changed, () => '')
}

async function find(context: Context, key: string): Promise<InstanceSetting> {
  const client = await context.client()
  const { items } = await client.call('getSettings', {}, { signal: context.signal })
  const found = items.find((item) => item.key === key || item.variable === key)
  if (found !== undefined) return found
  const near = nearest(
    key,
    items.map((item) => item.key),
  )
  const hint = near === null ? 'See: stq instance settings' : `Did you mean ${near}?`
  throw new CliError(`There is no setting "${plainText(key)}".`, { exitCode: exitCodes.notFound, hint })
}

function valueText(value: InstanceSetting['value']): string {
  if (value === null) return 'none'
  return Array.isArray(value) ? value.join(' ') || 'none' : String(value)
}

function sourceText({ source, pending, ignored, variable }: InstanceSetting): string {
  if (source === 'environment') return variable
  return `${source}${pending ? ', waits for a restart' : ''}${ignored === null ? '' : ', stored one not valid'}`
}
