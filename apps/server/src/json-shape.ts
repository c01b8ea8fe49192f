/** How much there is in a JSON text, counted without building any of it. */
export interface JsonShape {
  readonly depth: number
  /** Values and names of members, as far as commas and brackets tell. */
  readonly values: number
}

/** One look at each byte. What is no JSON is counted somehow: the parser refuses it then. */
export function jsonShape(bytes: Uint8Array): JsonShape {
  let depth = 0
  let deepest = 0
  let values = 1
  let inText = false
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (inText) {
      if (byte === backslash) at += 1
      else if (byte === quote) inText = false
    } else if (byte === quote) inText = true
    else if (byte === comma) values += 1
    else if (byte === openList || byte === openMap) {
      depth += 1
      values += 1
      if (depth > deepest) deepest = depth
    } else if (byte === closeList || byte === closeMap) depth -= 1
  }
  return { depth: deepest, values }
}

const backslash = 0x5c
const quote = 0x22
const comma = 0x2c
const openList = 0x5b
const closeList = 0x5d
const openMap = 0x7b
const closeMap = 0x7d
