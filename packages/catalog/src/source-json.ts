/** A package file that a person wrote has a few hundred lines. Reading one must not hold up the event loop. */
export const largestPackageFile = 256 * 1024
const deepest = 100
/** How many commands of one package file are offered. */
export const mostScripts = 200

/** Null for what is no JSON; `tooMuch` says that it was not even tried. */
export function sourceJson(text: string): { readonly value: unknown; readonly tooMuch: boolean } {
  if (text.length > largestPackageFile || isDeep(text)) return { value: null, tooMuch: true }
  try {
    return { value: JSON.parse(text) as unknown, tooMuch: false }
  } catch {
    return { value: null, tooMuch: false }
  }
}

/** One look at each character; brackets inside of texts do not count. */
function isDeep(text: string): boolean {
  let depth = 0
  let inText = false
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at]
    if (inText) {
      if (letter === '\\') at += 1
      else if (letter === '"') inText = false
    } else if (letter === '"') inText = true
    else if (letter === '[' || letter === '{') depth += 1
    else if (letter === ']' || letter === '}') depth -= 1
    if (depth > deepest) return true
  }
  return false
}
