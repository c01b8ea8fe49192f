import { type ReadAddon, readAddon } from '@stackquay/domain/read-addon'

/** Reads the file of an addon, which is YAML like a project file. */
export function run(text: string): ReadAddon {
  return readAddon(text)
}
