import type { Command } from 'commander'

export interface PurgeFlags {
  readonly purge?: boolean
}

export function addPurgeOption(command: Command): Command {
  return command.option('--purge', 'delete at once, past the trash: only that frees disk now')
}

export function purgeQuery(purge: boolean | undefined): { readonly purge?: 'true' } {
  return purge === true ? { purge: 'true' } : {}
}

/** For warnings: where what is deleted goes. */
export function orTrash(purge: boolean | undefined): string {
  return purge === true ? ' for good' : '; it stays in the trash for a time'
}
