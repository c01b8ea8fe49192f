/** A browser that has logged in before, known by a key that it keeps. The key proves nothing but that. */
export interface DeviceRow {
  readonly id: string
  readonly user: string
  readonly ip: string | null
  readonly userAgent: string | null
  readonly createdAt: string
  readonly lastUsedAt: string
}

export interface DeviceReader {
  byHash(hash: string): Promise<DeviceRow | null>
  of(user: string): Promise<readonly DeviceRow[]>
}

export interface DeviceWriter {
  /** Beyond a number of them, those of the user that were not used for the longest go. */
  insert(device: {
    id: string
    hash: string
    user: string
    ip: string | null
    userAgent: string | null
  }): Promise<DeviceRow>
  touch(id: string): Promise<void>
  delete(id: string): Promise<void>
  /** Answers how many there were. */
  deleteOfUser(user: string): Promise<number>
}
