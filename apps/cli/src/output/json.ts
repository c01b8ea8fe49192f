/**
 * JSON that a terminal can be shown: characters that `JSON.stringify` leaves as they are and that control a terminal are
 * escaped too, which means the same to a reader of the JSON.
 */
export function jsonText(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent)
  return text?.replace(/[\x7f-\x9f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`)
}
