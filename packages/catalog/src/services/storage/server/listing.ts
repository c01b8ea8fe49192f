/**
 * One page of names in the order of their bytes. Names that share what stands before the first delimiter after the prefix
 * become one entry; what they hide is jumped over, not read.
 */
export interface Page<Item> {
  readonly entries: readonly (
    | { readonly kind: 'item'; readonly item: Item }
    | { readonly kind: 'prefix'; readonly prefix: Buffer }
  )[]
  /** Name of the last entry when there is more. */
  readonly next: Buffer | null
}

export interface ListQuery {
  readonly prefix: Buffer
  /** Empty for none. */
  readonly delimiter: Buffer
  /** Only what comes after this name. */
  readonly after: Buffer
  readonly limit: number
}

/** `read` answers up to `count` items with names from `from` on, in order. */
export function listPage<Item extends { readonly key: Buffer }>(
  { prefix, delimiter, after, limit }: ListQuery,
  read: (from: Buffer, count: number) => readonly Item[],
): Page<Item> {
  if (limit === 0) return { entries: [], next: null }
  const entries: Page<Item>['entries'][number][] = []
  let last = after
  // The first name behind `after` is the same with a zero byte at its end.
  let from: Buffer | null = Buffer.compare(prefix, after) > 0 ? prefix : Buffer.concat([after, Buffer.of(0)])
  // Where names roll up, most of what is read is read for nothing; where they do not, small steps cost.
  let reach = 16
  while (from !== null) {
    const count: number =
      delimiter.length === 0 ? limit + 1 - entries.length : Math.min(limit + 1 - entries.length, reach)
    const items = read(from, count)
    from = items.length < count ? null : Buffer.concat([items.at(-1)!.key, Buffer.of(0)])
    reach *= 2
    for (const item of items) {
      if (!startsWith(item.key, prefix)) return { entries, next: null }
      const at = delimiter.length === 0 ? -1 : item.key.indexOf(delimiter, prefix.length)
      const rolled = at === -1 ? null : item.key.subarray(0, at + delimiter.length)
      const name = rolled ?? item.key
      // A common prefix counts as one name: behind it means behind all it holds.
      if (Buffer.compare(name, last) > 0) {
        if (entries.length === limit) return { entries, next: last }
        entries.push(rolled === null ? { kind: 'item', item } : { kind: 'prefix', prefix: rolled })
        last = name
      }
      if (rolled !== null) {
        from = behind(rolled)
        reach = 2
        break
      }
    }
  }
  return { entries, next: null }
}

function startsWith(key: Buffer, prefix: Buffer): boolean {
  return key.length >= prefix.length && key.subarray(0, prefix.length).equals(prefix)
}

/** The first name that does not begin with this one. */
function behind(prefix: Buffer): Buffer | null {
  for (let at = prefix.length - 1; at >= 0; at -= 1) {
    if (prefix[at]! < 255) return Buffer.concat([prefix.subarray(0, at), Buffer.of(prefix[at]! + 1)])
  }
  return null
}
