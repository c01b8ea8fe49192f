import type { World } from '../context.ts'
import { usageError } from '../errors.ts'
import { askHidden, isInteractive, readAllInput } from '../prompt.ts'

/** Never from the command line, where others could read it. */
export async function readPassword(world: World, { fromInput }: { readonly fromInput: boolean }): Promise<string> {
  if (!fromInput && !isInteractive(world))
    throw usageError('There is no terminal to ask for the password.', 'Send it with: --password-stdin < file')
  const password = fromInput ? await readAllInput(world) : await askHidden(world, 'Password: ')
  if (password === '') throw usageError('The password is empty; nothing was done.')
  return password
}
