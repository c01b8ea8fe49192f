import type { Context } from '../context.ts'
import { CliError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'

/** One value of what was read, exactly and without a line end, for scripts. */
export function printField(context: Context, found: Readonly<Record<string, unknown>>, field: string): void {
  const value = Object.hasOwn(found, field) ? found[field] : undefined
  if (value === undefined || value === null) {
    const hint = `There is: ${Object.keys(found).join(', ')}`
    const why = value === null ? `No ${field} is set.` : `There is no "${field}".`
    throw new CliError(why, { exitCode: exitCodes.notFound, hint })
  }
  if (context.json) context.result({ [field]: value }, () => '')
  else context.world.stdout.write(String(value))
}
