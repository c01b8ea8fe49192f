import type { AddonDefinition } from '@stackquay/contract'

/** A service that administrators described in a file. */
export interface AddonRow {
  readonly name: string
  /** The file as it was added. */
  readonly yaml: string
  readonly definition: AddonDefinition
  readonly createdAt: string
  readonly updatedAt: string
}

export interface AddonReader {
  /** By name. */
  all(): Promise<readonly AddonRow[]>
  find(name: string): Promise<AddonRow | null>
}

export interface AddonWriter {
  /** Takes the place of the one of that name. */
  put(addon: Pick<AddonRow, 'name' | 'yaml' | 'definition'>): Promise<void>
  delete(name: string): Promise<void>
}
