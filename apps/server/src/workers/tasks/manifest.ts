import { type ParsedManifest, parseManifest } from '@stackquay/domain/manifest'

/** Reads a project file. 100 KB of `[` take the YAML library a second. */
export function run(text: string): ParsedManifest {
  return parseManifest(text)
}
