/** Newest first. What cannot be read is handed to `onUnreadable` and left out. */
export async function readAll<Manifest extends { readonly id: string; readonly createdAt: string }>(
  ids: readonly string[],
  read: (id: string) => Promise<Manifest | null>,
  onUnreadable?: (id: string, error: Error) => void,
): Promise<readonly Manifest[]> {
  const found: Manifest[] = []
  for (const id of ids) {
    try {
      const manifest = await read(id)
      if (manifest !== null) found.push(manifest)
    } catch (error) {
      onUnreadable?.(id, error as Error)
    }
  }
  return found.sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt) || (a.id < b.id ? 1 : -1))
}
