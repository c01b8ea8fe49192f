/** A time as it is stored. Texts of other forms (`…:00Z`, an offset) would not sort with the rest. */
export function storedTime(time: string): string {
  return new Date(time).toISOString()
}

/** A LIKE pattern (with `escape '\'`) for texts that contain `text`, letter for letter. */
export function containing(text: string): string {
  return `%${escapeLike(text.toLowerCase())}%`
}

export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
