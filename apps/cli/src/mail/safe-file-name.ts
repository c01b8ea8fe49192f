/** Longest name, in bytes of UTF-8, that leaves room for a number on every file system. */
const longest = 200

/** Names that Windows keeps for devices, whatever their ending. */
const devices = /^(con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)$/i

/**
 * A name for a file in one of the caller’s folders, made from one that a stranger chose: never a path, never hidden, never a device, and
 * shown as it is. Characters that reverse the direction of text are taken out, as they let `exe.txt` read `txt.exe`.
 */
export function safeFileName(name: string | null, fallback: string): string {
  const last = (name ?? '').normalize('NFC').split(/[/\\]/).at(-1)!
  const clean = last
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')
    .replace(/[<>:"|?*]/g, '_')
    .replace(/\s+/g, ' ')
    .replace(/^[. -]+/, '')
    .replace(/[. ]+$/, '')
  const { stem, ending } = parts(shortened(clean === '' ? fallback : clean))
  return devices.test(stem.split('.')[0]!) ? `_${stem}${ending}` : `${stem}${ending}`
}

/** `photo (2).jpg` */
export function numberedName(name: string, number: number): string {
  const { stem, ending } = parts(name)
  return number === 1 ? name : `${stem} (${number})${ending}`
}

function parts(name: string): { readonly stem: string; readonly ending: string } {
  const ending = /^.+?((\.tar)?\.[^. ]{1,10})$/.exec(name)?.[1] ?? ''
  return { stem: name.slice(0, name.length - ending.length), ending }
}

function shortened(name: string): string {
  const { stem, ending } = parts(name)
  let kept = stem
  while (Buffer.byteLength(kept + ending) > longest) kept = [...kept].slice(0, -1).join('')
  return kept + ending
}
