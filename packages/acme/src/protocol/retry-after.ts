/** Seconds or a date, as RFC 9110 has it. No server holds us for longer than 30 days, whatever it says. */
export function retryAfter(header: string | undefined, now: Date): Date | null {
  if (header === undefined) return null
  const text = header.trim()
  const at = /^\d{1,10}$/.test(text) ? now.getTime() + Number(text) * 1000 : Date.parse(text)
  if (!Number.isFinite(at)) return null
  return new Date(Math.min(Math.max(at, now.getTime()), now.getTime() + longest))
}

const longest = 30 * 24 * 60 * 60 * 1000
