/** What a line of complaint of tar(1) while it reads means for the archive. */
export type Complaint =
  /** It changed, or went away, while it was read. */
  | { readonly what: 'changed'; readonly text: string }
  /** The user may not read it. */
  | { readonly what: 'unreadable'; readonly text: string }
  /** Nothing that could be archived, or a summary of lines before. */
  | { readonly what: 'nothing' }
  | { readonly what: 'failure'; readonly text: string }

/** In the language C. Whatever is not known is a failure: a disk that cannot be read must not pass for a warning. */
export function complaintOf(line: string): Complaint {
  const [, name = '', said = ''] = /^(?:\S*\/)?tar: (.*?): (.*)$/.exec(line) ?? []
  if (
    /^(socket|door) ignored$/.test(said) ||
    /^(\S*\/)?tar: (Exiting with failure status|Error exit delayed)/.test(line)
  )
    return { what: 'nothing' }
  if (/^(file changed as we read it|File removed before we read it|File shrank by \d+ bytes?.*)$/.test(said))
    return { what: 'changed', text: `${shown(name)}: ${said.split(';', 1)[0]}` }
  if (/^Warning: Cannot (open|stat|savedir|readdir|readlink): Permission denied$/.test(said) && name !== '.')
    return { what: 'unreadable', text: `${shown(name)}: it could not be read (Permission denied)` }
  if (/^Warning: Cannot (open|stat|savedir|readdir|readlink): No such file or directory$/.test(said) && name !== '.')
    return { what: 'changed', text: `${shown(name)}: File removed before we read it` }
  return { what: 'failure', text: line }
}

/** tar writes bytes outside of ASCII as `\303\244`. */
function shown(name: string): string {
  const bytes = name.replace(/\\([0-3][0-7]{2})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  )
  return Buffer.from(bytes, 'latin1').toString('utf8').replace(/^\.\//, '')
}
