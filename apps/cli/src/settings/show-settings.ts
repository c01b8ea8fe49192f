import type { ProjectView } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { CliError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import type { OfferedType } from '../offered.ts'
import { plainText } from '../output/plain-text.ts'
import { fields } from '../output/table.ts'
import { settingRows, settingsIn } from './change-settings.ts'

export async function showSettings(
  context: Context,
  id: string,
  kindOn: (engine: string) => Promise<OfferedType>,
  what: string,
): Promise<void> {
  const client = await context.client()
  const project = (await client.call('getProject', { params: { id } }, { signal: context.signal })) as ProjectView
  const { name, label } = await kindOn(project.engine)
  const settings = settingsIn(project, name)
  if (settings === null)
    throw new CliError(`${project.slug} has no ${plainText(label)}.`, {
      exitCode: exitCodes.notFound,
      hint: `See: stq ${what} list ${project.slug}`,
    })
  context.result(settings, () => {
    const rows = settingRows(settings).map(([key, value]): [string, string] => [key, plainText(value)])
    return context.quiet ? rows.map(([key, value]) => `${key}=${value}`).join('\n') : fields(rows, context.style)
  })
}
