/** Which lines' data a line opens, newest first, as the upgrade guides of RabbitMQ say. It never goes back. */
const opens: Readonly<Record<string, readonly string[]>> = {
  '4.3': ['4.2'],
  '4.2': ['4.1', '4.0', '3.13'],
  '4.1': ['4.0', '3.13'],
  '4.0': ['3.13'],
  '3.13': ['3.12'],
  '3.12': ['3.11'],
  '3.11': ['3.10'],
}

export function dataBlocker(from: string, to: string): string | null {
  const steps = stepsBetween(from, to)
  if (steps === null)
    return `RabbitMQ ${to} cannot open data that ${from} wrote. Choose ${from} again, or remove the data.`
  if (steps.length === 0) return null
  const way = new Intl.ListFormat('en', { type: 'conjunction' }).format(steps)
  return `RabbitMQ ${to} cannot open data that ${from} wrote. Start it with ${way} first, or remove the data.`
}

/** Lines to start in between, the fewest; null when no way is known. */
function stepsBetween(from: string, to: string): string[] | null {
  if (from === to) return []
  const ways = (opens[to] ?? [lineBefore(to)]).map((line) => {
    const steps = line === null ? null : line === from ? [] : stepsBetween(from, line)
    return steps === null ? null : line === from ? [] : [...steps, line as string]
  })
  return ways.filter((way) => way !== null).sort((one, other) => one.length - other.length)[0] ?? null
}

/** Of a line that came after this table: each opens the data of the one before. */
function lineBefore(line: string): string | null {
  const [major = 0, minor = 0] = line.split('.').map(Number)
  return minor > 0 && !(line in opens) && major >= 4 ? `${major}.${minor - 1}` : null
}
