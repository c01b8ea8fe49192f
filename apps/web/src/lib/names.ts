/** The slug that a name becomes: `My Shop!` is `my-shop`. Empty when nothing of the name can stand in a slug. */
export function slugOf(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 40)
    .replace(/-+$/, '')
}

/** A name for a project out of its git URL or its folder: the last part, without `.git`. */
export function nameOfSource(source: string): string {
  const last =
    source
      .trim()
      .replace(/[?#].*$/, '')
      .replace(/[\\/]+$/, '')
      .split(/[\\/:]/)
      .pop() ?? ''
  return last.replace(/\.git$/, '')
}

/** `packageManager` is `Package manager`; for settings that the dictionary has no word for. */
export function labelOfKey(key: string): string {
  const words = key
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** A name that no other has: `main`, then `main2`. */
export function freeName(wanted: string, taken: readonly string[]): string {
  if (!taken.includes(wanted)) return wanted
  for (let number = 2; ; number += 1) if (!taken.includes(`${wanted}${number}`)) return `${wanted}${number}`
}

/** A name whose slug no project has: `shop`, then `shop-2`. */
export function freeSlug(wanted: string, taken: readonly string[]): string {
  if (wanted === '' || !taken.includes(slugOf(wanted))) return wanted
  for (let number = 2; ; number += 1) if (!taken.includes(slugOf(`${wanted}-${number}`))) return `${wanted}-${number}`
}
